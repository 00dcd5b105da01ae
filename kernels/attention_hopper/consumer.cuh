// A warpgroup computes 64 rows of a tile: scores = Q * K^T, weights = softmax(scores), output = weights * V, one block
// of keys and values after the other.
#pragma once

#include "layout.cuh"
#include "softmax.cuh"
#include "tiles.cuh"

struct Output {
  const hopper::TensorMap& map;
  Element* data;
  int heads;
};

__device__ __forceinline__ int thread() { return threadIdx.x % group; }
__device__ __forceinline__ int consumer() { return static_cast<int>(threadIdx.x) / group - 1; }

__device__ __forceinline__ void release(hopper::Barrier& empty) {
  if (threadIdx.x % 32 == 0) hopper::arrive(empty);
}

/// Where this thread's row of 16 columns, laid out as sums are, begins in a swizzled tile.
__device__ __forceinline__ Element* row_of_step(Element (*tile)[rows * 64], int step) {
  const int row = thread() / 32 * 16 + threadIdx.x % 16;
  const int part = (step % 4 * 2 + threadIdx.x % 32 / 16) ^ (row % 8);
  return &tile[step / 4][row * 64 + part * 8];
}
__device__ __forceinline__ void store_step(Element (*tile)[rows * 64], int step, const unsigned (&x)[4]) {
  hopper::store_matrices(row_of_step(tile, step), x[0], x[1], x[2], x[3]);
}
template <int COUNT>
__device__ __forceinline__ void pack_step(const float (&x)[COUNT], int step, unsigned (&packed)[4]) {
#pragma unroll
  for (int i = 0; i < 4; ++i) packed[i] = hopper::narrow<type>(x[8 * step + 2 * i], x[8 * step + 2 * i + 1]);
}

/// One warpgroup at work on one tile.
class Rows {
 public:
  __device__ __forceinline__ Rows(Shared& shared, const Tile& tile, int q_stage, float scale)
      : shared_(shared), tile_(tile), q_stage_(q_stage), softmax_(scale) {}

  /// Causal: columns of the block are not behind the last of these rows.
  __device__ __forceinline__ bool sees(int block) const {
    return block * BLOCK_N < tile_.row + rows * (consumer() + 1);
  }
  /// Causal: from this block on, columns lie behind the first of these rows.
  __device__ __forceinline__ int first_masked() const { return (tile_.row + rows * consumer() + 1) / BLOCK_N; }

  /// Leaves a block out.
  __device__ __forceinline__ void skip(Position<STAGES>& at);
  /// The first block: its scores and weights.
  __device__ __forceinline__ void begin(const Position<STAGES>& at, int block);
  /// A block's scores and weights, beside the product of the weights before it, at `at`, with V.
  template <bool MASKED>
  __device__ __forceinline__ void step(Position<STAGES>& at, int block);
  /// The product of the last weights with V.
  __device__ __forceinline__ void end(Position<STAGES>& at);
  /// Writes the output, through the buffer of Q if the sequence has all 64 rows, and frees that.
  __device__ __forceinline__ void store(const Output& output);

 private:
  __device__ __forceinline__ void multiply_keys(int stage);
  __device__ __forceinline__ void multiply_values(int stage);
  __device__ __forceinline__ void wait_for_values(int stage);
  __device__ __forceinline__ void mask(int block);
  __device__ __forceinline__ void replace_weights();
  __device__ __forceinline__ void scale_output(const float (&factors)[2]);
  __device__ __forceinline__ void store_part(const Output& output, int step, const unsigned (&packed)[4]) const;

  Shared& shared_;
  const Tile& tile_;
  int q_stage_;
  Softmax softmax_;
  float output_[HEAD_DIM / 2];
  float scores_[BLOCK_N / 2];
#if Q_REGISTERS
  unsigned queries_[HEAD_DIM / 16][4];
#endif
#if !P_SHARED
  unsigned weights_[BLOCK_N / 16][4];
#endif
};

/// Lets one warpgroup after the other start its products, so that they compute their softmax at different times.
__device__ __forceinline__ void take_turn() {
  if (PINGPONG) hopper::sync_named(1 + consumer(), 2 * group);
}
__device__ __forceinline__ void pass_turn() {
  if (PINGPONG) hopper::arrive_named(1 + (consumer() + 1) % CONSUMERS, 2 * group);
}
__device__ __forceinline__ void sync_group() { hopper::sync_named(1 + CONSUMERS + consumer(), group); }

/// Starts scores = Q * K^T.
__device__ __forceinline__ void Rows::multiply_keys(int stage) {
  const hopper::Matrix k = hopper::matrix<swizzle>(shared_.k[stage][0], 1024);
#if !Q_REGISTERS
  const hopper::Matrix q = hopper::matrix<swizzle>(shared_.q[q_stage_][consumer()][0], 1024);
#endif
  hopper::products_begin();
#pragma unroll
  for (int i = 0; i < HEAD_DIM / 16; ++i) {
    const hopper::Matrix k_step = hopper::advance(k, i / 4 * BLOCK_N * 128 + i % 4 * 32);
#if Q_REGISTERS
    hopper::product<type>(scores_, queries_[i], k_step, i != 0);
#else
    hopper::product<type>(scores_, hopper::advance(q, i / 4 * rows * 128 + i % 4 * 32), k_step, i != 0);
#endif
  }
  hopper::products_commit();
}

/// Starts output += weights * V.
__device__ __forceinline__ void Rows::multiply_values(int stage) {
  constexpr hopper::Major mn = hopper::Major::mn;
  const hopper::Matrix v = hopper::matrix<swizzle>(shared_.v[stage][0], 1024, BLOCK_N * 128);
#if P_SHARED
  const hopper::Matrix p = hopper::matrix<swizzle>(shared_.p[consumer()][0], 1024);
#endif
  hopper::products_begin();
#pragma unroll
  for (int i = 0; i < BLOCK_N / 16; ++i) {
    const hopper::Matrix v_step = hopper::advance(v, i * 2048);
#if P_SHARED
    const hopper::Matrix p_step = hopper::advance(p, i / 4 * rows * 128 + i % 4 * 32);
    hopper::product<type, hopper::Major::k, mn>(output_, p_step, v_step, true);
#else
    hopper::product<type, mn>(output_, weights_[i], v_step, true);
#endif
  }
  hopper::products_commit();
}

__device__ __forceinline__ void Rows::wait_for_values(int stage) {
  hopper::products_wait<0>();
  hopper::keep(output_);
#if !P_SHARED
  hopper::keep(weights_);
#endif
  release(shared_.v_ring.empty[stage]);
}

/// Hides columns behind the end of the sequence and, if causal, behind the row.
__device__ __forceinline__ void Rows::mask(int block) {
  const int row = tile_.row + rows * consumer() + thread() / 32 * 16 + threadIdx.x % 32 / 4;
  const int first = block * BLOCK_N + threadIdx.x % 4 * 2;
#pragma unroll
  for (int i = 0; i < BLOCK_N / 2; ++i) {
    const int last = CAUSAL ? min(row + i / 2 % 2 * 8, tile_.length - 1) : tile_.length - 1;
    if (i / 4 * 8 + i % 2 > last - first) scores_[i] = -infinity();
  }
}

/// After the products with the former ones.
__device__ __forceinline__ void Rows::replace_weights() {
#pragma unroll
  for (int i = 0; i < BLOCK_N / 16; ++i) {
#if P_SHARED
    unsigned packed[4];
    pack_step(scores_, i, packed);
    store_step(shared_.p[consumer()], i, packed);
#else
    pack_step(scores_, i, weights_[i]);
#endif
  }
#if P_SHARED
  hopper::fence_async();
  sync_group();
#endif
}

__device__ __forceinline__ void Rows::scale_output(const float (&factors)[2]) {
#pragma unroll
  for (int i = 0; i < HEAD_DIM / 2; ++i) output_[i] *= factors[i / 2 % 2];
}

__device__ __forceinline__ void Rows::skip(Position<STAGES>& at) {
  hopper::wait(shared_.k_ring.full[at.stage], at.parity);
  release(shared_.k_ring.empty[at.stage]);
  take_turn();
  pass_turn();
  hopper::wait(shared_.v_ring.full[at.stage], at.parity);
  release(shared_.v_ring.empty[at.stage]);
  at.advance();
}

__device__ __forceinline__ void Rows::begin(const Position<STAGES>& at, int block) {
#if Q_REGISTERS
#pragma unroll
  for (int i = 0; i < HEAD_DIM / 16; ++i)
    hopper::load_matrices(row_of_step(shared_.q[q_stage_][consumer()], i), queries_[i]);
#endif
  hopper::wait(shared_.k_ring.full[at.stage], at.parity);
  multiply_keys(at.stage);
#pragma unroll
  for (int i = 0; i < HEAD_DIM / 2; ++i) output_[i] = 0;
  hopper::products_wait<0>();
  hopper::keep(scores_);
  release(shared_.k_ring.empty[at.stage]);
  if (CAUSAL || (block + 1) * BLOCK_N > tile_.length) mask(block);
  float factors[2];
  softmax_.raise(scores_, factors);
  softmax_.exponentiate(scores_, factors);
  replace_weights();
}

template <bool MASKED>
__device__ __forceinline__ void Rows::step(Position<STAGES>& at, int block) {
  const Position<STAGES> next = at.next();
  hopper::wait(shared_.k_ring.full[next.stage], next.parity);
  take_turn();
  multiply_keys(next.stage);
  hopper::wait(shared_.v_ring.full[at.stage], at.parity);
  multiply_values(at.stage);
  pass_turn();
  if (OVERLAP == 0) wait_for_values(at.stage);
  hopper::products_wait<1>();
  hopper::keep(scores_);
  release(shared_.k_ring.empty[next.stage]);
  if (MASKED) mask(block);
  float factors[2];
  softmax_.raise(scores_, factors);
  if (OVERLAP == 2) hopper::wait_after(factors[0] + factors[1]);
  if (OVERLAP > 0) wait_for_values(at.stage);
  scale_output(factors);
  softmax_.exponentiate(scores_, factors);
  replace_weights();
  at.advance();
}

__device__ __forceinline__ void Rows::end(Position<STAGES>& at) {
  hopper::wait(shared_.v_ring.full[at.stage], at.parity);
  multiply_values(at.stage);
  wait_for_values(at.stage);
  at.advance();
}

/// The pairs of columns of one step that lie in the sequence, without a tensor map: it knows no end of a sequence.
__device__ __forceinline__ void Rows::store_part(const Output& output, int step, const unsigned (&packed)[4]) const {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int row = tile_.row + rows * consumer() + thread() / 32 * 16 + threadIdx.x % 32 / 4 + i % 2 * 8;
    const int column = step * 16 + i / 2 * 8 + threadIdx.x % 4 * 2;
    Element* to =
        output.data + (static_cast<long long>(tile_.begin + row) * output.heads + tile_.head) * HEAD_DIM + column;
    if (row < tile_.length) *reinterpret_cast<unsigned*>(to) = packed[i];
  }
}

__device__ __forceinline__ void Rows::store(const Output& output) {
  scale_output({softmax_.finish(0), softmax_.finish(1)});
  const int first = tile_.row + rows * consumer();
  const bool whole = first + rows <= tile_.length;
  Element(*tiles)[rows * 64] = shared_.q[q_stage_][consumer()];
#pragma unroll
  for (int step = 0; step < HEAD_DIM / 16; ++step) {
    unsigned packed[4];
    pack_step(output_, step, packed);
    if (whole)
      store_step(tiles, step, packed);
    else
      store_part(output, step, packed);
  }
  hopper::fence_async();
  sync_group();
  if (thread() != 0) return;
  if (whole) {
    for (int i = 0; i < slices; ++i) hopper::store_tile(output.map, tiles[i], 64 * i, tile_.head, tile_.begin + first);
    hopper::store_commit();
    hopper::store_wait_read<0>();
  }
  hopper::arrive(shared_.q_empty[q_stage_][consumer()]);
}

/// Computes this consumer's rows of all tiles.
__device__ __forceinline__ void attend(Shared& shared, const Output& output, float scale) {
  Position<STAGES> at;
  Position<Q_STAGES> q;
  Position<2> in_queue;
  if (consumer() == CONSUMERS - 1) pass_turn();
  while (const Tile* tile = receive(shared.queue, in_queue)) {
    Rows part(shared, *tile, q.stage, scale);
    hopper::wait(shared.q_full[q.stage][consumer()], q.parity);
    int block = tile->blocks - 1;
    if (CAUSAL)
      for (; !part.sees(block); --block) part.skip(at);
    part.begin(at, block--);
    if (CAUSAL)
      for (const int masked = part.first_masked(); block >= masked; --block) part.step<true>(at, block);
    for (; block >= 0; --block) part.step<false>(at, block);
    part.end(at);
    part.store(output);
    release(shared.queue.empty[in_queue.stage]);
    q.advance();
    in_queue.advance();
  }
  if (consumer() == 0) take_turn();  // the last turn that was passed
}
