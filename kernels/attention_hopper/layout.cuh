// Sizes, element types, and a block's shared memory.
#pragma once

#include "../common/hopper_input.cuh"

constexpr hopper::Swizzle swizzle = hopper::Swizzle::bytes128;

constexpr int group = 128;  // threads of a warpgroup
constexpr int rows = 64;    // of Q, for each consumer
constexpr int block_m = rows * CONSUMERS;
constexpr int slices = HEAD_DIM / 64;  // 64 elements fill the 128 bytes that a swizzle covers

// All threads start with as many registers as fit: 168, or 128 with three consumers. What producers give back,
// consumers share, in steps of 8.
constexpr int consumer_registers =
    CONSUMERS == 1 ? 240 : ((CONSUMERS == 2 ? 504 : 512) - PRODUCER_REGISTERS) / CONSUMERS / 8 * 8;

/// A position in a ring of buffers, and the parity of their barriers' phase.
template <int COUNT>
struct Position {
  int stage = 0;
  unsigned parity = 0;
  __device__ Position next() const { return stage + 1 < COUNT ? Position{stage + 1, parity} : Position{0, parity ^ 1}; }
  __device__ void advance() { *this = next(); }
};

struct Tile {
  int begin, length;  // first row of the sequence in all tensors; its rows
  int row;            // first row of the tile in the sequence
  int head, kv_head;
  int blocks;  // of keys and values that it needs
};

/// Tiles on their way from the thread that chooses them to the others, which keep them there.
struct Queue {
  Tile tiles[2];
  hopper::Barrier full[2], empty[2];
};

/// Barriers of the blocks of K or V on their way.
struct Ring {
  hopper::Barrier full[STAGES], empty[STAGES];
};

/// A block's shared memory. A tile is a row of slices of 64 columns, which begin at multiples of 1024 bytes.
struct Shared {
  Element q[Q_STAGES][CONSUMERS][slices][rows * 64];  // the output, too
  Element k[STAGES][slices][BLOCK_N * 64];
  Element v[STAGES][slices][BLOCK_N * 64];
#if P_SHARED
  Element p[CONSUMERS][BLOCK_N / 64][rows * 64];
#endif
  hopper::Barrier q_full[Q_STAGES][CONSUMERS], q_empty[Q_STAGES][CONSUMERS];
  Ring k_ring, v_ring;
  Queue queue;
};

__device__ inline void init(Ring& ring) {
  for (int i = 0; i < STAGES; ++i) {
    hopper::init(ring.full[i], 1);
    hopper::init(ring.empty[i], 4 * CONSUMERS);  // each warp
  }
}
__device__ inline void init(Shared& shared) {
  for (int i = 0; i < CONSUMERS * Q_STAGES; ++i) {
    hopper::init(shared.q_full[i / CONSUMERS][i % CONSUMERS], 1);
    hopper::init(shared.q_empty[i / CONSUMERS][i % CONSUMERS], 1);
  }
  init(shared.k_ring);
  init(shared.v_ring);
  for (int i = 0; i < 2; ++i) {
    hopper::init(shared.queue.full[i], 1);
    hopper::init(shared.queue.empty[i], 5 * CONSUMERS);  // their warps, and the threads that load Q
  }
  hopper::fence_init();
}
