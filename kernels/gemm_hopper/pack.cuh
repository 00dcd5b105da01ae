// The kernel that runs before gemm_hopper and copies operands that tensor maps cannot describe: rows whose length in
// bytes is not a multiple of 16 to padded rows, and 8-bit floats that are not contiguous along K to a transposed
// matrix.
#pragma once

#include "problem.cuh"

// 1: A or B is packed.
#ifndef PACK_A
#define PACK_A 0
#endif
#ifndef PACK_B
#define PACK_B 0
#endif

// 8-bit floats are also transposed, if they are not contiguous along K.
constexpr bool TRANSPOSE_A = INPUT_TYPE == 2 && TRANSPOSED_A, TRANSPOSE_B = INPUT_TYPE == 2 && !TRANSPOSED_B;

constexpr int PACKED_AT_ONCE = 16 / static_cast<int>(sizeof(In));

/// Elements from a packed row to the next: a multiple of 64 bytes, as L2 reads sectors of 32 bytes.
__device__ inline int packed_pitch(int columns) {
  constexpr int step = 64 / static_cast<int>(sizeof(In));
  return (columns + step - 1) / step * step;
}

/// 16 bytes of 32, from byte `skip` (below 16) on.
__device__ inline uint4 middle(const uint4& low, const uint4& high, unsigned skip) {
  const unsigned words[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
  unsigned result[4];
#pragma unroll
  for (int first = 0; first < 4; ++first)
    if (skip / 4 == static_cast<unsigned>(first)) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const unsigned long long both = static_cast<unsigned long long>(words[first + i + 1]) << 32 | words[first + i];
        result[i] = static_cast<unsigned>(both >> skip % 4 * 8);
      }
    }
  return make_uint4(result[0], result[1], result[2], result[3]);
}

/// Rows of `columns` elements to rows of `pitch`, a multiple of PACKED_AT_ONCE. Each warp takes whole rows, so that all
/// its reads are shifted by the same number of bytes. Both matrices begin at a multiple of 16 bytes.
__device__ inline void pack_rows(const In* from, In* to, int rows, int columns, int pitch, int warp, int warps) {
  const int lane = threadIdx.x % 32, in_row = pitch / PACKED_AT_ONCE;
  const int whole = columns / PACKED_AT_ONCE - 1;  // pieces whose 32 bytes lie within the row
  for (int row = warp; row < rows; row += warps) {
    const In* const source = from + static_cast<size_t>(row) * columns;
    uint4* const target = reinterpret_cast<uint4*>(to) + static_cast<size_t>(row) * in_row;
    const unsigned skip = static_cast<size_t>(row) * columns * sizeof(In) % 16;
    const uint4* const words = reinterpret_cast<const uint4*>(source - skip / sizeof(In));
#pragma unroll 4
    for (int i = lane; i < whole; i += 32) target[i] = middle(__ldcs(words + i), __ldcs(words + i + 1), skip);
    for (int i = (whole < 0 ? 0 : whole) + lane; i < in_row; i += 32) {
      union {
        In elements[PACKED_AT_ONCE];
        uint4 all;
      } piece;
      piece.all = make_uint4(0, 0, 0, 0);
      for (int j = 0; j < PACKED_AT_ONCE && i * PACKED_AT_ONCE + j < columns; ++j)
        piece.elements[j] = source[i * PACKED_AT_ONCE + j];
      target[i] = piece.all;
    }
  }
}

/// Columns of `rows` elements to rows of `pitch`, by tiles of 64 x 64. All threads of a block of 256 call it.
__device__ inline void pack_transposed(const In* from, In* to, int rows, int columns, int pitch) {
  __shared__ In tile[64][65];
  const int across = (columns + 63) / 64, tiles = (rows + 63) / 64 * across;
  for (int number = blockIdx.x; number < tiles; number += gridDim.x) {
    const int row = number / across * 64, column = number % across * 64;
    for (int i = threadIdx.x; i < 64 * 64; i += 256) {
      const int r = row + i / 64, c = column + i % 64;
      if (r < rows && c < columns) tile[i / 64][i % 64] = from[static_cast<size_t>(r) * columns + c];
    }
    __syncthreads();
    for (int i = threadIdx.x; i < 64 * 64; i += 256) {
      const int r = row + i % 64, c = column + i / 64;
      if (r < rows && c < columns) to[static_cast<size_t>(c) * pitch + r] = tile[i % 64][i / 64];
    }
    __syncthreads();
  }
}

/// A matrix of `rows` rows as it lies in memory. 256 threads per block. `warp` is this warp's number among all.
template <bool TRANSPOSE>
__device__ inline void pack_matrix(const In* from, In* to, int rows, int columns, int warp) {
  if constexpr (TRANSPOSE)
    pack_transposed(from, to, rows, columns, packed_pitch(rows));
  else
    pack_rows(from, to, rows, columns, packed_pitch(columns), warp,
              static_cast<int>(gridDim.x) * 8);
}

extern "C" __global__ void __launch_bounds__(256)
    pack_operands(const In* a, const In* b, In* packed_a, In* packed_b, int m, int n, int k) {
  // A by the first warps and B by the last ones: at the same time, if there are more warps than rows.
  const int warp = static_cast<int>(blockIdx.x * 8 + threadIdx.x / 32), last = static_cast<int>(gridDim.x * 8) - 1;
  if constexpr (PACK_A) pack_matrix<TRANSPOSE_A>(a, packed_a, TRANSPOSED_A ? k : m, TRANSPOSED_A ? m : k, warp);
  if constexpr (PACK_B) pack_matrix<TRANSPOSE_B>(b, packed_b, TRANSPOSED_B ? n : k, TRANSPOSED_B ? k : n, last - warp);
}
