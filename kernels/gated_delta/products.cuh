// What the products within a chunk have in common: a warpgroup computes matrices of 64 rows, one for each row of the
// chunk, and keeps them as the sums of products.
#pragma once

#include "../chunk_delta_h/layout.cuh"

constexpr int v_slices = DV / 64;

/// Where this thread's row of a step of 16 columns, laid out as sums are, begins in swizzled slices of 64 columns.
template <class T>
__device__ __forceinline__ T* row_of_step(T* slices, int step) {
  const int row = warp() * 16 + lane() % 16;
  const int part = (step % 4 * 2 + lane() / 16) ^ (row % 8);
  return slices + step / 4 * tile + row * 64 + part * 8;
}
template <class T>
__device__ __forceinline__ void store_step(T* slices, int step, const unsigned (&x)[4]) {
  hopper::store_matrices(row_of_step(slices, step), x[0], x[1], x[2], x[3]);
}

/// Row and column of a sum.
__device__ __forceinline__ int row_of(int i) { return warp() * 16 + lane() / 4 + i / 2 % 2 * 8; }
__device__ __forceinline__ int column_of(int i) { return i / 4 * 8 + lane() % 4 * 2 + i % 2; }

/// Starts sums = x * y^T, for slices of rows of x and of y.
template <int COUNT>
__device__ __forceinline__ void multiply_rows(float (&sums)[COUNT], const Element* x, const Element* y) {
  const hopper::Matrix rows = hopper::matrix<swizzle>(x, 1024), columns = hopper::matrix<swizzle>(y, 1024);
#pragma unroll
  for (int i = 0; i < DK / 16; ++i) {
    const int at = i / 4 * tile_bytes + i % 4 * 32;
    hopper::product<type>(sums, hopper::advance(rows, at), hopper::advance(columns, at), i != 0);
  }
}

/// Starts sums = x * y, or sums += x * y, for x of 64 columns in registers, the first STEPS times 16 of which are not
/// zero, and slices of 64 rows of y.
template <hopper::Type TYPE, int STEPS = 4, int COUNT>
__device__ __forceinline__ void multiply(float (&sums)[COUNT], const unsigned (&x)[4][4], const void* y,
                                         bool accumulate) {
  constexpr hopper::Major mn = hopper::Major::mn;
  const hopper::Matrix matrix = hopper::matrix<swizzle>(y, 1024, tile_bytes);
#pragma unroll
  for (int i = 0; i < STEPS; ++i)
    hopper::product<TYPE, mn>(sums, x[i], hopper::advance(matrix, i * 2048), accumulate || i != 0);
}

/// Before products of operands that have just been computed.
template <int STEPS>
__device__ __forceinline__ void begin_with(unsigned (&operand)[STEPS][4]) {
  hopper::keep(operand);
  hopper::products_begin();
}
/// Waits for a product that was the only one.
template <int COUNT>
__device__ __forceinline__ void finish(float (&sums)[COUNT]) {
  hopper::products_commit();
  hopper::products_wait<0>();
  hopper::keep(sums);
}

/// Rounds sums into slices in shared memory, for a store.
template <int COUNT>
__device__ __forceinline__ void write_rows(const float (&sums)[COUNT], Element* slices) {
#pragma unroll
  for (int i = 0; i < COUNT / 8; ++i) {
    unsigned packed[4];
    pack_step(sums, i, packed);
    store_step(slices, i, packed);
  }
}
