// The chunked gated delta rule, forward, on Hopper (sm_90a), in three steps. README.md describes the design and the
// parameters.
#include "../chunk_delta_h/state.cuh"
#include "output.cuh"
#include "prepare.cuh"

/// The chunk of a block of threads; `index` counts heads, then batches, then chunks.
__device__ inline Sequence sequence_of(int index, int length, int heads, int& chunk_index) {
  const Sequence first = {0, 0, length, heads};
  const int sequence = index / first.chunks();
  chunk_index = index % first.chunks();
  return {sequence / heads, sequence % heads, length, heads};
}

__device__ inline void expect(hopper::Barrier& full, int bytes) {
  hopper::init(full, 1);
  hopper::fence_init();
  hopper::arrive_expect(full, bytes);
}

/// Grid: chunks of all heads and batches. w, u, and for each row of k its gate and what normalises it.
extern "C" __global__ void __launch_bounds__(group)
    prepare(const __grid_constant__ hopper::TensorMap k_map, const __grid_constant__ hopper::TensorMap v_map,
            const __grid_constant__ hopper::TensorMap w_map, const __grid_constant__ hopper::TensorMap u_map,
            const float* gate_logits, const float* beta_logits, float* g, float* k_norms, int length, int heads,
            float rate) {
  extern __shared__ __align__(1024) unsigned char memory[];
  PrepareShared& shared = *reinterpret_cast<PrepareShared*>(memory);
  int index;
  const Sequence sequence = sequence_of(blockIdx.x, length, heads, index);
  if (threadIdx.x == 0) {
    expect(shared.full, sizeof(shared.k) + sizeof(shared.v));
    for (int i = 0; i < k_slices; ++i) load_chunk(shared.k[i], k_map, shared.full, sequence, index, 64 * i);
    for (int i = 0; i < v_slices; ++i) load_chunk(shared.v[i], v_map, shared.full, sequence, index, 64 * i);
  }
  if (warp() == 1) activate(shared, {gate_logits, beta_logits, rate}, g, sequence, index * chunk);
  __syncthreads();
  hopper::wait(shared.full, 0);
  float sums[32];
  hopper::products_begin();
  multiply_rows(sums, shared.k[0], shared.k[0]);
  finish(sums);
  normalise(shared, sums, k_norms, sequence, index * chunk);
  __syncthreads();
  invert(shared, sums);
  write_w_and_u(shared, sums, w_map, u_map, sequence, index);
}

/// Grid: heads and batches, and BLOCK_V columns of v for each.
extern "C" __global__ void __launch_bounds__(group*(BLOCK_V / 64 + 1), 1)
    state(const __grid_constant__ hopper::TensorMap k_map, const __grid_constant__ hopper::TensorMap w_map,
          const __grid_constant__ hopper::TensorMap u_map, const __grid_constant__ hopper::TensorMap h_map,
          const __grid_constant__ hopper::TensorMap v_new_map, const float* g, const float* k_norms, float* last,
          int length, int heads) {
  extern __shared__ __align__(1024) unsigned char memory[];
  pass_state(*reinterpret_cast<StateShared*>(memory), {w_map, k_map, u_map, h_map, v_new_map}, {g, k_norms, 1.0f, 1.0f},
             nullptr, last, length, heads);
}

/// Grid: OUTPUT_V columns of v, and chunks of all heads and batches.
extern "C" __global__ void __launch_bounds__(group)
    output(const __grid_constant__ hopper::TensorMap q_map, const __grid_constant__ hopper::TensorMap k_map,
           const __grid_constant__ hopper::TensorMap v_new_map, const __grid_constant__ hopper::TensorMap h_map,
           const __grid_constant__ hopper::TensorMap o_map, const float* g, const float* k_norms, int length, int heads,
           float scale) {
  extern __shared__ __align__(1024) unsigned char memory[];
  OutputShared& shared = *reinterpret_cast<OutputShared*>(memory);
  int index;
  const Sequence sequence = sequence_of(blockIdx.x / (DV / OUTPUT_V), length, heads, index);
  const int column = static_cast<int>(blockIdx.x) % (DV / OUTPUT_V) * OUTPUT_V;
  if (threadIdx.x == 0) {
    expect(shared.full, sizeof(shared.q) + sizeof(shared.k) + sizeof(shared.v) + sizeof(shared.h));
    for (int i = 0; i < k_slices; ++i) {
      load_chunk(shared.q[i], q_map, shared.full, sequence, index, 64 * i);
      load_chunk(shared.k[i], k_map, shared.full, sequence, index, 64 * i);
    }
    for (int i = 0; i < output_slices; ++i) {
      load_chunk(shared.v[i], v_new_map, shared.full, sequence, index, column + 64 * i);
      hopper::load_tile(shared.h[i], h_map, shared.full, column + 64 * i,
                        static_cast<int>(sequence.at_chunk(index) * DK));
    }
  }
  if (threadIdx.x < chunk) {
    const int row = index * chunk + threadIdx.x;
    shared.gates[threadIdx.x] = row < length ? g[sequence.at(row)] : 0.0f;
    shared.k_norms[threadIdx.x] = row < length ? k_norms[sequence.at(row)] : 0.0f;
  }
  __syncthreads();
  hopper::wait(shared.full, 0);
  float sums[OUTPUT_V / 2];
  attend_chunk(shared, sums, scale);
  __syncthreads();
  write_rows(sums, shared.q[0]);
  hopper::fence_async();
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int i = 0; i < output_slices; ++i)
    hopper::store_tile(o_map, shared.q[0] + i * tile, column + 64 * i, sequence.head, index * chunk, sequence.batch);
  hopper::store_commit();
  hopper::store_wait_read<0>();
}
