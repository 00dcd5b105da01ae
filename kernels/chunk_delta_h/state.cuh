// The state pass of the chunked delta rule. The state is kept transposed, as the sums of a product of 64 columns of v by
// DK: rounded, these sums are the operand of the next product, so the chain from chunk to chunk stays in registers.
#pragma once

#include "layout.cuh"

constexpr int groups = BLOCK_V / 64;  // warpgroups that compute; each has 64 columns of v
constexpr int t_part = chunk / PARTS;  // rows of a part of the values
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
  __device__ __forceinline__ void multiply_w(int stage, int step, int part);
  __device__ __forceinline__ void multiply_k(int stage, int step);
  __device__ __forceinline__ void start_values(int stage, int index);
  __device__ __forceinline__ void start_state(int stage);
  __device__ __forceinline__ void replace_values(int stage, int part);
  __device__ __forceinline__ void store_state(int index);
  __device__ __forceinline__ void store_values(int index);
  __device__ __forceinline__ long long place(int i) const;
  __device__ __forceinline__ void sync() const { hopper::sync_named(1 + group_, group); }

  StateShared& shared_;
  const StateMaps& maps_;
  const Sequence& sequence_;
  int group_, column_;
  float h_[DK / 2];
  float v_[PARTS][t_part / 2];
  unsigned h_operand_[DK / 16][4], v_operand_[chunk / 16][4];
  unsigned v_new_[chunk / 16][4];
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

/// Starts values += state * w^T: of 16 columns of the state, for one part of the chunk's rows.
__device__ __forceinline__ void State::multiply_w(int stage, int step, int part) {
  const hopper::Matrix w = hopper::matrix<swizzle>(shared_.stages[stage].w[0], 1024);
  const hopper::Matrix w_step = hopper::advance(w, step / 4 * tile_bytes + part * t_part * 128 + step % 4 * 32);
  hopper::product<type>(v_[part], h_operand_[step], w_step, step != 0);
}

/// Starts state += values * k: of 16 rows of the chunk.
__device__ __forceinline__ void State::multiply_k(int stage, int step) {
  constexpr hopper::Major mn = hopper::Major::mn;
  const hopper::Matrix k = hopper::matrix<swizzle>(shared_.stages[stage].k[0], 1024, tile_bytes);
  hopper::product<type, mn>(h_, v_operand_[step], hopper::advance(k, step * 2048), true);
}

/// Rounds the state and starts its product with w.
__device__ __forceinline__ void State::start_values(int stage, int index) {
  hopper::products_wait<0>();
  hopper::keep(h_);
  // The chunk before is no longer needed.
  if (index > 0 && lane() == 0) hopper::arrive(shared_.empty[stage == 0 ? STAGES - 1 : stage - 1]);
#pragma unroll
  for (int i = 0; i < DK / 16; ++i) {
    pack_step(h_, i, h_operand_[i]);
    if (i % ROUND != ROUND - 1) continue;
    hopper::products_begin();
#pragma unroll
    for (int j = i + 1 - ROUND; j <= i; ++j) multiply_w(stage, j, 0);
  }
  hopper::products_commit();
#pragma unroll
  for (int part = 1; part < PARTS; ++part) {
#pragma unroll
    for (int i = 0; i < DK / 16; ++i) multiply_w(stage, i, part);
    hopper::products_commit();
  }
}

/// v_new = u - values, for one part of the chunk's rows, and what the state gets of it.
__device__ __forceinline__ void State::replace_values(int stage, int part) {
#pragma unroll
  for (int i = 0; i < t_part / 16; ++i) {
    const int step = part * t_part / 16 + i;
    unsigned u[4];
    hopper::load_matrices_transposed(transposed_step(shared_.stages[stage].u[group_], step), u);
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const auto pair = hopper::widen<type>(u[j]);
      const float* factors = &shared_.factors[stage][step * 16 + j / 2 * 8 + lane() % 4 * 2];
      const float first = pair[0] - v_[part][8 * i + 2 * j];
      const float second = pair[1] - v_[part][8 * i + 2 * j + 1];
      v_new_[step][j] = hopper::narrow<type>(first, second);
      v_operand_[step][j] = hopper::narrow<type>(first * factors[0], second * factors[1]);
    }
  }
}

/// Starts state += values * k, part of the values after part.
__device__ __forceinline__ void State::start_state(int stage) {
#pragma unroll
  for (int part = 0; part < PARTS; ++part) {
    // All products with w but those of later parts, and the last part's with k, have ended.
    hopper::products_wait<PARTS - 1>();
    hopper::keep(v_[part]);
    replace_values(stage, part);
    hopper::products_begin();
#pragma unroll
    for (int i = part * t_part / 16; i < (part + 1) * t_part / 16; ++i) multiply_k(stage, i);
    hopper::products_commit();
  }
}

/// Writes the state before the chunk. Its buffer is free: before the last sync, the thread that stores waited until only
/// the last 2 BUFFERS - 2 stores, alternately of values and states, had not read theirs.
__device__ __forceinline__ void State::store_state(int index) {
  Element* const slice = shared_.h[index % BUFFERS][group_];
#pragma unroll
  for (int i = 0; i < DK / 16; ++i)
    hopper::store_matrices_transposed(transposed_step(slice, i), h_operand_[i][0], h_operand_[i][1], h_operand_[i][2],
                                      h_operand_[i][3]);
  hopper::fence_async();
  if (thread() == 0) hopper::store_wait_read<2 * BUFFERS - 2>();
  sync();
  if (thread() != 0) return;
  hopper::store_tile(maps_.h, slice, column_, static_cast<int>(sequence_.at_chunk(index) * DK));
  hopper::store_commit();
}
__device__ __forceinline__ void State::store_values(int index) {
  Element* const slice = shared_.v[index % BUFFERS][group_];
#pragma unroll
  for (int i = 0; i < chunk / 16; ++i)
    hopper::store_matrices_transposed(transposed_step(slice, i), v_new_[i][0], v_new_[i][1], v_new_[i][2],
                                      v_new_[i][3]);
  hopper::fence_async();
  if (thread() == 0) hopper::store_wait_read<2 * BUFFERS - 2>();
  sync();
  if (thread() != 0) return;
  hopper::store_tile(maps_.v_new, slice, column_, sequence_.head, index * chunk, sequence_.batch);
  hopper::store_commit();
}

__device__ __forceinline__ void State::step(const Position<STAGES>& at, int index) {
  hopper::wait(shared_.full[at.stage], at.parity);
  start_values(at.stage, index);
  store_state(index);
  const float decay = shared_.decays[at.stage];
#pragma unroll
  for (int i = 0; i < DK / 2; ++i) h_[i] *= decay;
  start_state(at.stage);
  store_values(index);
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
    if (groups > 1) hopper::fewer_registers<56>();
    if (warp() == 0 && lane() == 0) load_chunks(shared, maps, sequence, column);
    if (warp() == 1) load_gates(shared, gates, sequence);
  } else {
    if (groups > 1) hopper::more_registers<224>();
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
