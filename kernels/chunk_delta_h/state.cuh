// The state pass of the chunked delta rule. The state is kept transposed, as the sums of a product of 64 columns of v by
// DK: rounded, these sums are the operand of the next product, so the chain from chunk to chunk stays in registers.
#pragma once

#include "layout.cuh"

constexpr int groups = BLOCK_V / 64;  // warpgroups that compute; each has 64 columns of v
constexpr int gates_ahead = 4;  // chunks whose gates are on their way

struct StateMaps {
  const hopper::TensorMap &w, &k, &u, &h, &v_new;
};

/// What one chunk needs.
struct Stage {
  Element w[k_slices][tile], k[k_slices][tile];
  Element u[groups][tile];
};

struct StateShared {
  Stage stages[STAGES];
  Element h[BUFFERS][groups][DK * 64], v[BUFFERS][groups][tile];  // on their way to memory
  float factors[STAGES][chunk];                 // what a chunk's rows of k are multiplied by
  float decays[STAGES];                         // what the state is multiplied by
  hopper::Barrier full[STAGES], empty[STAGES];
};

struct Gates {
  const float* g;         // [batches, length, heads], cumulated within each chunk
  const float* k_norms;   // what each row of k is multiplied by, [batches, length, heads]; nullptr: only by k_scale
  float g_scale, k_scale;  // a gate is 2^(g_scale * g)
};

__device__ inline void init(StateShared& shared) {
  for (int i = 0; i < STAGES; ++i) {
    hopper::init(shared.full[i], 1 + 32);           // the thread that copies, and the warp of the gates
    hopper::init(shared.empty[i], 4 * groups);  // each warp
  }
  hopper::fence_init();
}

/// One thread copies chunk after chunk.
__device__ inline void load_chunks(StateShared& shared, const StateMaps& maps, const Sequence& sequence, int column) {
  Position<STAGES> at;
#pragma unroll 1
  for (int c = 0; c < sequence.chunks(); ++c) {
    hopper::Barrier& full = shared.full[at.stage];
    Stage& stage = shared.stages[at.stage];
    hopper::wait(shared.empty[at.stage], at.parity ^ 1);
    hopper::arrive_expect(full, sizeof(Stage));
    for (int i = 0; i < k_slices; ++i) load_chunk(stage.w[i], maps.w, full, sequence, c, 64 * i);
    for (int i = 0; i < groups; ++i) load_chunk(stage.u[i], maps.u, full, sequence, c, column + 64 * i);
    for (int i = 0; i < k_slices; ++i) load_chunk(stage.k[i], maps.k, full, sequence, c, 64 * i);
    at.advance();
  }
}

/// Two rows of a chunk, for each thread of a warp.
struct GatePair {
  float g[2], norm[2];

  __device__ __forceinline__ void load(const Gates& gates, const Sequence& sequence, int index) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int row = index * chunk + 32 * i + lane();
      const bool inside = row < sequence.length;
      g[i] = inside ? gates.g[sequence.at(row)] : 0.0f;
      norm[i] = inside ? (gates.k_norms ? gates.k_norms[sequence.at(row)] : gates.k_scale) : 0.0f;
    }
  }
  __device__ __forceinline__ void store(float* factors, float& decay, float g_scale, int rows) const {
    const float last = __shfl_sync(0xffffffffu, rows > 32 ? g[1] : g[0], (rows - 1) % 32);
    for (int i = 0; i < 2; ++i) factors[32 * i + lane()] = norm[i] * exp2f(g_scale * (last - g[i]));
    if (lane() == 0) decay = exp2f(g_scale * last);
  }
};

/// One warp computes the factors of each chunk. It reads gates some chunks ahead, because the memory takes longer than
/// a chunk.
__device__ inline void load_gates(StateShared& shared, const Gates& gates, const Sequence& sequence) {
  const int chunks = sequence.chunks();
  GatePair pairs[gates_ahead];
  Position<STAGES> at;
#pragma unroll
  for (int i = 0; i < gates_ahead; ++i) pairs[i].load(gates, sequence, i);
#pragma unroll 1
  for (int first = 0; first < chunks; first += gates_ahead) {
#pragma unroll
    for (int i = 0; i < gates_ahead; ++i) {
      const int c = first + i;
      if (c >= chunks) break;
      hopper::wait(shared.empty[at.stage], at.parity ^ 1);
      pairs[i].store(shared.factors[at.stage], shared.decays[at.stage], gates.g_scale,
                     min(chunk, sequence.length - c * chunk));
      hopper::arrive(shared.full[at.stage]);
      pairs[i].load(gates, sequence, c + gates_ahead);
      at.advance();
    }
  }
}

/// A warpgroup's 64 columns of the state, transposed.
class State {
 public:
  __device__ __forceinline__ State(StateShared& shared, const StateMaps& maps, const Sequence& sequence, int column)
      : shared_(shared), maps_(maps), sequence_(sequence), group_(threadIdx.x / group), column_(column + 64 * group_) {}

  /// initial and last: [batches, heads, DK, DV].
  __device__ __forceinline__ void begin(const float* initial);
  __device__ __forceinline__ void step(const Position<STAGES>& at, int index);
  __device__ __forceinline__ void end(float* last);

 private:
  __device__ __forceinline__ void start_values(int stage);
  __device__ __forceinline__ void load_rows(int stage);
  __device__ __forceinline__ void start_state(int stage);
  __device__ __forceinline__ void store(int index);
  __device__ __forceinline__ long long place(int i) const;

  StateShared& shared_;
  const StateMaps& maps_;
  const Sequence& sequence_;
  int group_, column_;
  float h_[DK / 2], v_[chunk / 2];
  unsigned h_operand_[DK / 16][4], v_operand_[chunk / 16][4];
  unsigned u_[chunk / 16][4];
  float factors_[chunk / 4];  // of the columns of this thread's sums v_
};

/// The place of a sum in [batches, heads, DK, DV].
__device__ __forceinline__ long long State::place(int i) const {
  const int row = i / 4 * 8 + lane() % 4 * 2 + i % 2;
  const int column = column_ + warp() * 16 + lane() / 4 + i / 2 % 2 * 8;
  return ((static_cast<long long>(sequence_.batch) * sequence_.heads + sequence_.head) * DK + row) * DV + column;
}

__device__ __forceinline__ void State::begin(const float* initial) {
#pragma unroll
  for (int i = 0; i < DK / 2; ++i) h_[i] = INITIAL ? initial[place(i)] : 0.0f;
  hopper::keep(h_);  // zeros must be in registers before the first product
}

__device__ __forceinline__ void State::end(float* last) {
  hopper::products_wait<0>();
  hopper::keep(h_);
#pragma unroll
  for (int i = 0; i < DK / 2; ++i) last[place(i)] = h_[i];
  if (thread() == 0) hopper::store_wait<0>();
}

/// Rounds the state, ROUND steps of 16 columns at a time, and starts its product with w.
__device__ __forceinline__ void State::start_values(int stage) {
  const hopper::Matrix w = hopper::matrix<swizzle>(shared_.stages[stage].w[0], 1024);
#pragma unroll
  for (int i = 0; i < DK / 16; ++i) {
    pack_step(h_, i, h_operand_[i]);
    if ((i + 1) % ROUND != 0) continue;
    hopper::products_begin();
#pragma unroll
    for (int j = i + 1 - ROUND; j <= i; ++j)
      hopper::product<type>(v_, h_operand_[j], hopper::advance(w, j / 4 * tile_bytes + j % 4 * 32), j != 0);
  }
  hopper::products_commit();
}

/// What the values of the product are combined with.
__device__ __forceinline__ void State::load_rows(int stage) {
#pragma unroll
  for (int i = 0; i < chunk / 16; ++i)
    hopper::load_matrices_transposed(transposed_step(shared_.stages[stage].u[group_], i), u_[i]);
#pragma unroll
  for (int i = 0; i < chunk / 4; ++i)
    factors_[i] = shared_.factors[stage][i / 2 * 8 + lane() % 4 * 2 + i % 2];
}

/// v_new = u - values, and starts state += factors v_new * k.
__device__ __forceinline__ void State::start_state(int stage) {
  constexpr hopper::Major mn = hopper::Major::mn;
  constexpr int together = ROUND < chunk / 16 ? ROUND : chunk / 16;
  const hopper::Matrix k = hopper::matrix<swizzle>(shared_.stages[stage].k[0], 1024, tile_bytes);
#pragma unroll
  for (int i = 0; i < chunk / 16; ++i) {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const auto u = hopper::widen<type>(u_[i][j]);
      float &first = v_[8 * i + 2 * j], &second = v_[8 * i + 2 * j + 1];
      const float* factors = &factors_[4 * i + j / 2 * 2];
      first = u[0] - first;
      second = u[1] - second;
      v_operand_[i][j] = hopper::narrow<type>(first * factors[0], second * factors[1]);
    }
    if ((i + 1) % together != 0) continue;
    hopper::products_begin();
#pragma unroll
    for (int j = i + 1 - together; j <= i; ++j)
      hopper::product<type, mn>(h_, v_operand_[j], hopper::advance(k, j * 2048), true);
  }
  hopper::products_commit();
}

__device__ __forceinline__ void store_transposed(Element* slice, int step, const unsigned (&x)[4]) {
  hopper::store_matrices_transposed(transposed_step(slice, step), x[0], x[1], x[2], x[3]);
}

/// Stores the state before the chunk, which is in its buffer already, and the new values. Before others write to the
/// next chunk's buffer, the thread that stores waits until its stores from there have read it.
__device__ __forceinline__ void State::store(int index) {
  Element *const h = shared_.h[index % BUFFERS][group_], *const v = shared_.v[index % BUFFERS][group_];
#pragma unroll
  for (int i = 0; i < chunk / 16; ++i) {
    unsigned packed[4];
    pack_step(v_, i, packed);
    store_transposed(v, i, packed);
  }
  hopper::fence_async();
  if (thread() == 0) hopper::store_wait_read<BUFFERS - 2>();
  hopper::sync_named(1 + group_, group);
  if (thread() != 0) return;
  hopper::store_tile(maps_.h, h, column_, static_cast<int>(sequence_.at_chunk(index) * DK));
  hopper::store_tile(maps_.v_new, v, column_, sequence_.head, index * chunk, sequence_.batch);
  hopper::store_commit();
}

/// Whatever can wait is done while a product is computed.
__device__ __forceinline__ void State::step(const Position<STAGES>& at, int index) {
  hopper::wait(shared_.full[at.stage], at.parity);
  hopper::products_wait<0>();
  hopper::keep(h_);
  if (index > 0 && lane() == 0) hopper::arrive(shared_.empty[at.stage == 0 ? STAGES - 1 : at.stage - 1]);
  start_values(at.stage);
  const float decay = shared_.decays[at.stage];
#pragma unroll
  for (int i = 0; i < DK / 2; ++i) h_[i] *= decay;
  load_rows(at.stage);
#pragma unroll
  for (int i = 0; i < DK / 16; ++i) store_transposed(shared_.h[index % BUFFERS][group_], i, h_operand_[i]);
  hopper::products_wait<0>();
  hopper::keep(v_);
  start_state(at.stage);
  store(index);
}

/// A block of threads: one head, BLOCK_V columns.
__device__ __forceinline__ void pass_state(StateShared& shared, const StateMaps& maps, const Gates& gates,
                                           const float* initial, float* last, int length, int heads) {
  if (threadIdx.x == 0) init(shared);
  __syncthreads();
  constexpr int blocks = DV / BLOCK_V;
  const int sequence_index = blockIdx.x / blocks, column = static_cast<int>(blockIdx.x) % blocks * BLOCK_V;
  const Sequence sequence = {sequence_index / heads, sequence_index % heads, length, heads};
  if (threadIdx.x >= group * groups) {
    if (groups > 1) hopper::fewer_registers<72>();
    if (warp() == 0 && lane() == 0) load_chunks(shared, maps, sequence, column);
    if (warp() == 1) load_gates(shared, gates, sequence);
  } else {
    if (groups > 1) hopper::more_registers<216>();
    State state(shared, maps, sequence, column);
    state.begin(initial);
    Position<STAGES> at;
#pragma unroll 1
    for (int c = 0; c < sequence.chunks(); ++c) {
      state.step(at, c);
      at.advance();
    }
    state.end(last);
  }
}
