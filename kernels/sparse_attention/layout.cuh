// Sizes, element types, and a block's shared memory.
#pragma once

#include "../common/hopper_input.cuh"

constexpr int rows = 16;                                      // of a warp's product: heads of one position
constexpr int warps_of_position = (GROUP + rows - 1) / rows;  // GROUP heads share keys and values
constexpr int consumers = POSITIONS * warps_of_position;      // warps that compute
constexpr int threads = 32 * (consumers + 1);                 // and one that loads
constexpr int slices = HEAD_DIM / 64;                         // 64 elements fill the 128 bytes that a swizzle covers
constexpr int keys_at_once = KEYS < BLOCK_SIZE ? KEYS : BLOCK_SIZE;  // whose scores a warp has in registers
static_assert(POSITIONS <= 16 && threads <= 1024, "a choice has a bit for each position");

/// A block of keys or values, or a warp's rows of Q, as tensor maps load it: slices of 64 columns, swizzled.
template <int ROWS>
struct Tile {
  Element slice[slices][ROWS * 64];

  /// The 8 elements from column 8 * part on.
  __device__ const Element* at(int row, int part) const {
    return &slice[part / 8][row * 64 + (part % 8 ^ row % 8) * 8];
  }
  __device__ Element* at(int row, int part) { return &slice[part / 8][row * 64 + (part % 8 ^ row % 8) * 8]; }
};

/// A block's shared memory. Behind it lies a word for each block of keys: first the positions that choose it, a bit for
/// each; then the list of the blocks that are chosen at all.
struct Shared {
  Tile<rows> q[consumers];  // the output, too
  Tile<BLOCK_SIZE> k[STAGES], v[STAGES];
  hopper::Barrier full[STAGES], empty[STAGES], q_full;
  int chosen;  // length of the list

  __device__ unsigned* table() { return reinterpret_cast<unsigned*>(this + 1); }
};

/// Positions that choose a block, and its number, in a word.
__device__ inline unsigned entry_of(unsigned positions, int block) {
  return static_cast<unsigned>(block) << 16 | positions;
}
__device__ inline int block_of(unsigned entry) { return static_cast<int>(entry >> 16); }
__device__ inline bool chosen_by(unsigned entry, int position) { return entry >> position & 1; }

/// A position in the ring of stages, and the parity of their barriers' phase.
struct Place {
  int stage = 0;
  unsigned parity = 0;
  __device__ void advance() {
    if (++stage < STAGES) return;
    stage = 0;
    parity ^= 1;
  }
};

__device__ inline void init(Shared& shared) {
  for (int i = 0; i < STAGES; ++i) {
    hopper::init(shared.full[i], 1);
    hopper::init(shared.empty[i], consumers);
  }
  hopper::init(shared.q_full, 1);
  hopper::fence_init();
}
