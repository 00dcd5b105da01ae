// Sizes, element types and tiles of the chunked delta rule's kernels.
#pragma once

#include "../common/hopper_input.cuh"

constexpr hopper::Swizzle swizzle = hopper::Swizzle::bytes128;

constexpr int group = 128;           // threads of a warpgroup
constexpr int chunk = 64;            // rows
constexpr int k_slices = DK / 64;    // 64 elements fill the 128 bytes that a swizzle covers
constexpr int tile = 64 * 64;        // elements of 64 rows of a slice
constexpr int tile_bytes = 2 * tile;

__device__ __forceinline__ int thread() { return threadIdx.x % group; }
__device__ __forceinline__ int lane() { return threadIdx.x % 32; }
__device__ __forceinline__ int warp() { return threadIdx.x % group / 32; }

/// A position in a ring of buffers, and the parity of their barriers' phase.
template <int COUNT>
struct Position {
  int stage = 0;
  unsigned parity = 0;
  __device__ void advance() {
    if (++stage == COUNT) {
      stage = 0;
      parity ^= 1;
    }
  }
};

/// Which rows of the tensors, [batches, length, heads, columns], a sequence has.
struct Sequence {
  int batch, head;
  int length, heads;
  __device__ int chunks() const { return (length + chunk - 1) / chunk; }
  /// A row's place in [batches, length, heads].
  __device__ long long at(int row) const { return (static_cast<long long>(batch) * length + row) * heads + head; }
  /// A chunk's place in [batches, chunks, heads].
  __device__ long long at_chunk(int index) const {
    return (static_cast<long long>(batch) * chunks() + index) * heads + head;
  }
};

/// Loads 64 columns of a chunk; rows behind the sequence's end are zero.
__device__ __forceinline__ void load_chunk(Element* to, const hopper::TensorMap& map, hopper::Barrier& barrier,
                                           const Sequence& sequence, int index, int column) {
  hopper::load_tile(to, map, barrier, column, sequence.head, index * chunk, sequence.batch);
}

/// Rounds the 16 columns of one step along K to an operand.
template <int COUNT>
__device__ __forceinline__ void pack_step(const float (&x)[COUNT], int step, unsigned (&packed)[4]) {
#pragma unroll
  for (int i = 0; i < 4; ++i) packed[i] = hopper::narrow<type>(x[8 * step + 2 * i], x[8 * step + 2 * i + 1]);
}

/// Where this thread's row of a step of 16 columns begins in a swizzled slice that is the transpose of sums: rows of the
/// slice are columns of the sums.
__device__ __forceinline__ Element* transposed_step(Element* slice, int step) {
  const int row = step * 16 + lane() / 16 * 8 + lane() % 8;
  const int part = (warp() * 2 + lane() / 8 % 2) ^ (row % 8);
  return slice + row * 64 + part * 8;
}
