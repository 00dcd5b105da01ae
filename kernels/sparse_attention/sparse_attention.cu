// O = softmax(scale * Q * K^T) * V over the blocks of keys that each position chooses, on Hopper (sm_90a). README.md
// describes the design and the parameters.
#include "choice.cuh"
#include "layout.cuh"
#include "rows.cuh"

struct Problem {
  const int* choices;
  int seq, kv_heads, selected, blocks;

  __device__ int first_position() const { return static_cast<int>(blockIdx.x) * POSITIONS; }
  __device__ int kv_head() const { return static_cast<int>(blockIdx.y); }
  /// The first row of the sequence in all tensors.
  __device__ int begin() const { return static_cast<int>(blockIdx.z) * seq; }
};

/// Fills the table with the positions that choose each block. By all threads; between them are barriers.
__device__ inline void clear_table(Shared& shared, const Problem& problem) {
  for (int i = static_cast<int>(threadIdx.x); i < problem.blocks; i += threads) shared.table()[i] = 0;
}
__device__ inline void mark_choices(Shared& shared, const Problem& problem) {
  for (int i = static_cast<int>(threadIdx.x); i < POSITIONS * problem.selected; i += threads) {
    const int slot = i % problem.selected, position = problem.first_position() + i / problem.selected;
    if (position >= problem.seq) break;
    const long long row = static_cast<long long>(problem.begin() + position) * problem.kv_heads + problem.kv_head();
    const int block = chosen_block(problem.choices[row * problem.selected + slot], position);
    if (block >= 0) atomicOr(&shared.table()[block], 1u << i / problem.selected);
  }
}

/// Replaces the table by the list of the blocks that are chosen. By one warp.
__device__ inline void make_list(Shared& shared, const Problem& problem) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  unsigned* const table = shared.table();
  int length = 0;
  for (int first = 0; first < problem.blocks; first += 32) {
    const int block = first + lane;
    const unsigned positions = block < problem.blocks ? table[block] : 0;
    const unsigned chosen = __ballot_sync(0xffffffffu, positions != 0);
    if (positions != 0) table[length + __popc(chosen & ((1u << lane) - 1))] = entry_of(positions, block);
    length += __popc(chosen);
    __syncwarp();
  }
  if (lane == 0) shared.chosen = length;
}

/// By one thread.
__device__ inline void load_queries(Shared& shared, const Problem& problem, const hopper::TensorMap& map) {
  hopper::arrive_expect(shared.q_full, sizeof(shared.q));
  for (int i = 0; i < consumers; ++i) {
    const int head = problem.kv_head() * GROUP + i % warps_of_position * rows;
    const int row = problem.begin() + problem.first_position() + i / warps_of_position;
    for (int s = 0; s < slices; ++s)
      hopper::load_tile(shared.q[i].slice[s], map, shared.q_full, 64 * s, head, row, hopper::Cache::first);
  }
}
__device__ inline void load_blocks(Shared& shared, const Problem& problem, const hopper::TensorMap& k_map,
                                   const hopper::TensorMap& v_map) {
  Place at;
  for (int i = 0; i < shared.chosen; ++i) {
    const int row = problem.begin() + block_of(shared.table()[i]) * BLOCK_SIZE;
    hopper::Barrier& full = shared.full[at.stage];
    hopper::wait(shared.empty[at.stage], at.parity ^ 1);
    hopper::arrive_expect(full, sizeof(shared.k[0]) + sizeof(shared.v[0]));
    for (int s = 0; s < slices; ++s)
      hopper::load_tile(shared.k[at.stage].slice[s], k_map, full, 64 * s, problem.kv_head(), row);
    for (int s = 0; s < slices; ++s)
      hopper::load_tile(shared.v[at.stage].slice[s], v_map, full, 64 * s, problem.kv_head(), row);
    at.advance();
  }
}

/// A warp's heads of its position.
__device__ inline void attend(Shared& shared, const Problem& problem, const hopper::TensorMap& o_map, float scale) {
  const int consumer = static_cast<int>(threadIdx.x) / 32 - 1, number = consumer / warps_of_position;
  const int position = problem.first_position() + number;
  Tile<rows>& tile = shared.q[consumer];
  hopper::wait(shared.q_full, 0);
  Rows part(tile, position, scale);
  Place at;
#pragma unroll 1
  for (int i = 0; i < shared.chosen; ++i) {
    const unsigned entry = shared.table()[i];
    hopper::wait(shared.full[at.stage], at.parity);
    if (chosen_by(entry, number)) part.add(shared.k[at.stage], shared.v[at.stage], block_of(entry) * BLOCK_SIZE);
    __syncwarp();
    if (threadIdx.x % 32 == 0) hopper::arrive(shared.empty[at.stage]);
    at.advance();
  }
  part.finish();
  hopper::fence_async();
  __syncwarp();
  if (threadIdx.x % 32 != 0 || position >= problem.seq) return;
  const int head = problem.kv_head() * GROUP + consumer % warps_of_position * rows;
  for (int s = 0; s < slices; ++s) hopper::store_tile(o_map, tile.slice[s], 64 * s, head, problem.begin() + position);
  hopper::store_commit();
  hopper::store_wait_read<0>();
}

/// Grid: ceil(seq / POSITIONS), kv_heads, sequences. Block: `threads`. Shared memory: Shared, and 4 bytes for each of
/// the blocks of keys, up to 65536.
extern "C" __global__ void __launch_bounds__(threads, MIN_BLOCKS)
    sparse_attention(const __grid_constant__ hopper::TensorMap q_map, const __grid_constant__ hopper::TensorMap k_map,
                     const __grid_constant__ hopper::TensorMap v_map, const __grid_constant__ hopper::TensorMap o_map,
                     const int* choices, int seq, int kv_heads, int selected, float scale) {
  extern __shared__ __align__(1024) unsigned char memory[];
  Shared& shared = *reinterpret_cast<Shared*>(memory);
  const Problem problem = {choices, seq, kv_heads, selected, (seq + BLOCK_SIZE - 1) / BLOCK_SIZE};
  if (threadIdx.x == 0) {
    init(shared);
    load_queries(shared, problem, q_map);
  }
  clear_table(shared, problem);
  __syncthreads();
  mark_choices(shared, problem);
  __syncthreads();
  if (threadIdx.x < 32) make_list(shared, problem);
  __syncthreads();
  if (threadIdx.x >= 32)
    attend(shared, problem, o_map, scale);
  else if (threadIdx.x == 0)
    load_blocks(shared, problem, k_map, v_map);
}
