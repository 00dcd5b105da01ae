// O = softmax(scale * Q * K^T) * V for each head, on Hopper (sm_90a). README.md describes the design and the parameters.
#include <xtune/hopper.cuh>

namespace hopper = xtune::hopper;

#define BLOCK_M (64 * CONSUMERS)
constexpr int group = 128;  // threads of a warpgroup
constexpr int rows = 64;    // of Q, for each consumer
constexpr int slices = HEAD_DIM / 64;  // a row of 128 bytes, which is what a swizzle covers, has 64 elements
constexpr hopper::Type type = INPUT_BF16 ? hopper::Type::bf16 : hopper::Type::f16;
constexpr hopper::Swizzle swizzle = hopper::Swizzle::bytes128;

/// A position in a ring of buffers, and the parity of their barriers' phase.
template <int COUNT>
struct Position {
  int stage = 0;
  unsigned parity = 0;
  __device__ Position next() const { return stage + 1 < COUNT ? Position{stage + 1, parity} : Position{0, parity ^ 1}; }
  __device__ void advance() { *this = next(); }
};

#include "softmax.cuh"
#include "tiles.cuh"

// All threads start with as many registers as fit: 168, or 128 with three consumers. What producers give back, consumers
// share, in steps of 8.
constexpr int consumer_registers = CONSUMERS == 1 ? 240 : ((CONSUMERS == 2 ? 504 : 512) - PRODUCER_REGISTERS) / CONSUMERS / 8 * 8;

using Element = unsigned short;  // the bits of f16 or bf16

/// Buffers of a block's shared memory. Each tile is a row of slices of 64 columns.
struct Shared {
  Element q[Q_STAGES][CONSUMERS][slices][rows * 64];  // the output, too
  Element k[STAGES][slices][BLOCK_N * 64];
  Element v[STAGES][slices][BLOCK_N * 64];
#if P_SHARED
  Element p[CONSUMERS][BLOCK_N / 64][rows * 64];
#endif
  hopper::Barrier q_full[Q_STAGES][CONSUMERS], q_empty[Q_STAGES][CONSUMERS];
  hopper::Barrier k_full[STAGES], k_empty[STAGES], v_full[STAGES], v_empty[STAGES];
  Queue queue;
};

// --- Producers: one thread loads keys and values; one for each consumer loads its rows of Q --------------------------

__device__ void load_block(Element (&to)[STAGES][slices][BLOCK_N * 64], hopper::Barrier (&full)[STAGES],
                           hopper::Barrier (&empty)[STAGES], Position<STAGES>& at, const hopper::TensorMap& map,
                           const Tile& tile, int block) {
  hopper::wait(empty[at.stage], at.parity ^ 1);
  hopper::arrive_expect(full[at.stage], sizeof(to[0]));
  for (int i = 0; i < slices; ++i)
    hopper::load_tile(to[at.stage][i], map, full[at.stage], 64 * i, tile.kv_head, tile.begin + block * BLOCK_N);
  at.advance();
}

__device__ void load_keys_and_values(Shared& shared, const hopper::TensorMap& k_map, const hopper::TensorMap& v_map,
                                     Tiles tiles) {
  Position<STAGES> k, v;
  Position<2> in_queue;
  while (tiles.next(claim(shared.queue, in_queue))) {
    const Tile& tile = send(shared.queue, in_queue);
    for (int block = tile.blocks - 1; block >= 0; --block) {
      load_block(shared.k, shared.k_full, shared.k_empty, k, k_map, tile, block);
      if (block + 1 < tile.blocks) load_block(shared.v, shared.v_full, shared.v_empty, v, v_map, tile, block + 1);
    }
    load_block(shared.v, shared.v_full, shared.v_empty, v, v_map, tile, 0);
  }
  claim(shared.queue, in_queue).blocks = 0;
  send(shared.queue, in_queue);
}

__device__ void load_queries(Shared& shared, const hopper::TensorMap& map, int consumer) {
  Position<Q_STAGES> q;
  Position<2> at;
  while (const Tile* tile = receive(shared.queue, at)) {
    const int head = tile->head, row = tile->begin + tile->row + rows * consumer;
    hopper::arrive(shared.queue.empty[at.stage]);
    hopper::Barrier& full = shared.q_full[q.stage][consumer];
    hopper::wait(shared.q_empty[q.stage][consumer], q.parity ^ 1);
    hopper::arrive_expect(full, sizeof(shared.q[0][0]));
    for (int i = 0; i < slices; ++i)
      hopper::load_tile(shared.q[q.stage][consumer][i], map, full, 64 * i, head, row);
    q.advance();
    at.advance();
  }
}

// --- Consumers: each warpgroup computes 64 rows of a tile ------------------------------------------------------------

/// One warpgroup's state for a tile.
struct Rows {
  float sums[HEAD_DIM / 2];
  float scores[BLOCK_N / 2];
#if Q_REGISTERS
  unsigned queries[HEAD_DIM / 16][4];
#endif
#if !P_SHARED
  unsigned weights[BLOCK_N / 16][4];
#endif
};

__device__ __forceinline__ int thread() { return threadIdx.x % group; }

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

/// Starts scores = Q * K^T.
__device__ __forceinline__ void multiply_keys(Rows& state, const Shared& shared, int q_stage, int consumer, int stage) {
  const auto k = hopper::matrix<swizzle>(shared.k[stage][0], 1024);
#if !Q_REGISTERS
  const auto q = hopper::matrix<swizzle>(shared.q[q_stage][consumer][0], 1024);
#endif
#pragma unroll
  for (int i = 0; i < HEAD_DIM / 16; ++i) {
    const auto k_step = hopper::advance(k, i / 4 * BLOCK_N * 128 + i % 4 * 32);
#if Q_REGISTERS
    hopper::product<type>(state.scores, state.queries[i], k_step, i != 0);
#else
    hopper::product<type>(state.scores, hopper::advance(q, i / 4 * rows * 128 + i % 4 * 32), k_step, i != 0);
#endif
  }
  hopper::products_commit();
}

/// Starts sums += weights * V.
__device__ __forceinline__ void multiply_values(Rows& state, const Shared& shared, int consumer, int stage) {
  constexpr auto mn = hopper::Major::mn;
  const auto v = hopper::matrix<swizzle>(shared.v[stage][0], 1024, BLOCK_N * 128);
#if P_SHARED
  const auto p = hopper::matrix<swizzle>(shared.p[consumer][0], 1024);
#pragma unroll
  for (int i = 0; i < BLOCK_N / 16; ++i)
    hopper::product<type, hopper::Major::k, mn>(state.sums, hopper::advance(p, i / 4 * rows * 128 + i % 4 * 32),
                                                hopper::advance(v, i * 2048), true);
#else
#pragma unroll
  for (int i = 0; i < BLOCK_N / 16; ++i)
    hopper::product<type, mn>(state.sums, state.weights[i], hopper::advance(v, i * 2048), true);
#endif
  hopper::products_commit();
}

/// After the products with these weights have ended.
__device__ __forceinline__ void replace_weights(Rows& state, Shared& shared, int consumer) {
#if P_SHARED
#pragma unroll
  for (int i = 0; i < BLOCK_N / 16; ++i) {
    unsigned packed[4];
    pack_step(state.scores, i, packed);
    store_step(shared.p[consumer], i, packed);
  }
  hopper::fence_async();
  hopper::sync_named(1 + CONSUMERS + consumer, group);
#else
#pragma unroll
  for (int i = 0; i < BLOCK_N / 16; ++i) pack_step(state.scores, i, state.weights[i]);
#endif
}

__device__ __forceinline__ void scale_sums(Rows& state, const float (&factors)[2]) {
  if (LAZY && !__any_sync(0xffffffffu, factors[0] != 1.0f || factors[1] != 1.0f)) return;
#pragma unroll
  for (int i = 0; i < HEAD_DIM / 2; ++i) state.sums[i] *= factors[i / 2 % 2];
}

/// Hides columns behind the end of the sequence and, if causal, behind the row.
__device__ __forceinline__ void mask(Rows& state, const Tile& tile, int consumer, int block) {
  const int row = tile.row + rows * consumer + thread() / 32 * 16 + threadIdx.x % 32 / 4;
  const int first = block * BLOCK_N + threadIdx.x % 4 * 2;
#pragma unroll
  for (int i = 0; i < BLOCK_N / 2; ++i) {
    const int last = CAUSAL ? min(row + i / 2 % 2 * 8, tile.length - 1) : tile.length - 1;
    if (i / 4 * 8 + i % 2 > last - first) state.scores[i] = -infinity;
  }
}

__device__ __forceinline__ void release(hopper::Barrier& empty) {
  if (threadIdx.x % 32 == 0) hopper::arrive(empty);
}

/// Lets one warpgroup after the other start its products, so that they compute their softmax at different times.
__device__ __forceinline__ void take_turn(int consumer) {
  if (PINGPONG) hopper::sync_named(1 + consumer, 2 * group);
}
__device__ __forceinline__ void pass_turn(int consumer) {
  if (PINGPONG) hopper::arrive_named(1 + (consumer + 1) % CONSUMERS, 2 * group);
}

/// Waits for the products with V.
__device__ __forceinline__ void end_values(Rows& state, Shared& shared, const Position<STAGES>& at) {
  hopper::products_wait<0>();
  hopper::keep(state.sums);
#if !P_SHARED
  hopper::keep(state.weights);
#endif
  release(shared.v_empty[at.stage]);
}

/// Leaves out a block whose columns all lie behind this warpgroup's rows.
__device__ __forceinline__ void skip(Shared& shared, int consumer, Position<STAGES>& at) {
  hopper::wait(shared.k_full[at.stage], at.parity);
  release(shared.k_empty[at.stage]);
  take_turn(consumer);
  pass_turn(consumer);
  hopper::wait(shared.v_full[at.stage], at.parity);
  release(shared.v_empty[at.stage]);
  at.advance();
}

/// Starts the products of a block with K and of the block before it with V, and computes the softmax meanwhile.
template <bool MASKED>
__device__ __forceinline__ void step(Rows& state, Softmax& softmax, Shared& shared, const Tile& tile, int consumer,
                                     int block, int q_stage, Position<STAGES>& at) {
  const Position<STAGES> k = at.next();
  hopper::wait(shared.k_full[k.stage], k.parity);
  take_turn(consumer);
  hopper::products_begin();
  multiply_keys(state, shared, q_stage, consumer, k.stage);
  hopper::wait(shared.v_full[at.stage], at.parity);
  hopper::products_begin();
  multiply_values(state, shared, consumer, at.stage);
  pass_turn(consumer);
  if (OVERLAP == 0) end_values(state, shared, at);
  hopper::products_wait<1>();
  hopper::keep(state.scores);
  release(shared.k_empty[k.stage]);
  if (MASKED) mask(state, tile, consumer, block);
  float factors[2];
  softmax.raise(state.scores, factors);
  if (OVERLAP == 2) hopper::wait_after(factors[0] + factors[1]);
  if (OVERLAP == 1 || OVERLAP == 2) end_values(state, shared, at);
  softmax.exponentiate(state.scores, factors);
  if (OVERLAP == 3) {
    hopper::wait_after(softmax.sum());
    end_values(state, shared, at);
  }
  scale_sums(state, factors);
  replace_weights(state, shared, consumer);
  at.advance();
}

/// Writes the finished rows, through the buffer of Q if the sequence has all 64.
__device__ __forceinline__ void store(Rows& state, const Softmax& softmax, Shared& shared, const Tile& tile,
                                      const hopper::TensorMap& map, Element* output, int heads, int q_stage,
                                      int consumer) {
  const float factors[2] = {softmax.finish(0), softmax.finish(1)};
#pragma unroll
  for (int i = 0; i < HEAD_DIM / 2; ++i) state.sums[i] *= factors[i / 2 % 2];
  const int first = tile.row + rows * consumer;
  Element(*tiles)[rows * 64] = shared.q[q_stage][consumer];
  const bool whole = first + rows <= tile.length;
#pragma unroll
  for (int step = 0; step < HEAD_DIM / 16; ++step) {
    unsigned packed[4];
    pack_step(state.sums, step, packed);
    if (whole) {
      store_step(tiles, step, packed);
      continue;
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int row = first + thread() / 32 * 16 + threadIdx.x % 32 / 4 + i % 2 * 8;
      const int column = step * 16 + i / 2 * 8 + threadIdx.x % 4 * 2;
      Element* to = output + (static_cast<long long>(tile.begin + row) * heads + tile.head) * HEAD_DIM + column;
      if (row < tile.length) *reinterpret_cast<unsigned*>(to) = packed[i];
    }
  }
  hopper::fence_async();
  hopper::sync_named(1 + CONSUMERS + consumer, group);
  if (thread() != 0) return;
  if (whole) {
    for (int i = 0; i < slices; ++i) hopper::store_tile(map, tiles[i], 64 * i, tile.head, tile.begin + first);
    hopper::store_commit();
    hopper::store_wait_read<0>();
  }
  hopper::arrive(shared.q_empty[q_stage][consumer]);
}

__device__ __forceinline__ void attend(Shared& shared, const hopper::TensorMap& map, Element* output, int heads,
                                       float scale, int consumer) {
  Position<STAGES> at;  // of keys and values of the same block
  Position<Q_STAGES> q;
  Position<2> in_queue;
  if (consumer == CONSUMERS - 1) pass_turn(consumer);
  while (const Tile* next = receive(shared.queue, in_queue)) {
    const Tile& tile = *next;
    Rows state;
    Softmax softmax(scale);
    int block = tile.blocks - 1;
    hopper::wait(shared.q_full[q.stage][consumer], q.parity);
#if Q_REGISTERS
#pragma unroll
    for (int i = 0; i < HEAD_DIM / 16; ++i)
      hopper::load_matrices(row_of_step(shared.q[q.stage][consumer], i), state.queries[i]);
#endif
    if (CAUSAL)
      for (const int end = tile.row + rows * (consumer + 1); block * BLOCK_N >= end; --block)
        skip(shared, consumer, at);
    hopper::wait(shared.k_full[at.stage], at.parity);
    hopper::products_begin();
    multiply_keys(state, shared, q.stage, consumer, at.stage);
#pragma unroll
    for (int i = 0; i < HEAD_DIM / 2; ++i) state.sums[i] = 0;
    hopper::products_wait<0>();
    hopper::keep(state.scores);
    release(shared.k_empty[at.stage]);
    if (CAUSAL || (block + 1) * BLOCK_N > tile.length) mask(state, tile, consumer, block);
    float factors[2];
    softmax.raise(state.scores, factors);
    softmax.exponentiate(state.scores, factors);
    replace_weights(state, shared, consumer);
    --block;
    const int masked = CAUSAL ? (tile.row + rows * consumer + 1) / BLOCK_N : 0;  // from this block on, columns lie behind rows
    if (CAUSAL)
      for (; block >= masked; --block)
        step<true>(state, softmax, shared, tile, consumer, block, q.stage, at);
    for (; block >= 0; --block) step<false>(state, softmax, shared, tile, consumer, block, q.stage, at);
    hopper::wait(shared.v_full[at.stage], at.parity);
    hopper::products_begin();
    multiply_values(state, shared, consumer, at.stage);
    end_values(state, shared, at);
    at.advance();
    store(state, softmax, shared, tile, map, output, heads, q.stage, consumer);
    release(shared.queue.empty[in_queue.stage]);
    q.advance();
    in_queue.advance();
  }
  if (consumer == 0) take_turn(consumer);
}

__device__ void init(Shared& shared) {
  for (int i = 0; i < CONSUMERS * Q_STAGES; ++i) {
    hopper::init(shared.q_full[i / CONSUMERS][i % CONSUMERS], 1);
    hopper::init(shared.q_empty[i / CONSUMERS][i % CONSUMERS], 1);
  }
  for (int i = 0; i < STAGES; ++i) {
    hopper::init(shared.k_full[i], 1);
    hopper::init(shared.v_full[i], 1);
    hopper::init(shared.k_empty[i], 4 * CONSUMERS);  // each warp
    hopper::init(shared.v_empty[i], 4 * CONSUMERS);
  }
  for (int i = 0; i < 2; ++i) {
    hopper::init(shared.queue.full[i], 1);
    hopper::init(shared.queue.empty[i], 5 * CONSUMERS);  // their warps, and the threads that load Q
  }
  hopper::fence_init();
}

extern "C" __global__ void __launch_bounds__(group * (CONSUMERS + 1), 1)
    attention(const __grid_constant__ hopper::TensorMap q_map, const __grid_constant__ hopper::TensorMap k_map,
              const __grid_constant__ hopper::TensorMap v_map, const __grid_constant__ hopper::TensorMap o_map,
              Element* output, const int* starts, int* drawn, int batch, int seq, int heads, int kv_heads,
              int section, float scale) {
  extern __shared__ __align__(1024) unsigned char memory[];
  Shared& shared = *reinterpret_cast<Shared*>(memory);
  if (threadIdx.x == 0) init(shared);
  __syncthreads();
  if (threadIdx.x < group) {
    hopper::fewer_registers<PRODUCER_REGISTERS>();
    const int warp = threadIdx.x / 32;
    if (threadIdx.x % 32 != 0) return;
    if (warp == 0)
      load_keys_and_values(shared, k_map, v_map, Tiles({starts, drawn, batch, seq, heads, kv_heads, section}));
    else if (warp <= CONSUMERS)
      load_queries(shared, q_map, warp - 1);
  } else {
    hopper::more_registers<consumer_registers>();
    attend(shared, o_map, output, heads, scale, static_cast<int>(threadIdx.x) / group - 1);
  }
}
