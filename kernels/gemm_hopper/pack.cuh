// The kernel that runs before gemm_hopper and copies operands that tensor maps cannot describe: rows whose length in
// bytes is not a multiple of 16 to padded rows, and 8-bit floats that are not contiguous along K to a transposed matrix.
#pragma once

#include "problem.cuh"

// How A and B are packed. 0: not at all; 1: row by row; 2: transposed.
#ifndef PACK_A
#define PACK_A 0
#endif
#ifndef PACK_B
#define PACK_B 0
#endif

constexpr int PACKED_AT_ONCE = 16 / static_cast<int>(sizeof(In));

/// Rows of `columns` elements to rows of `pitch`, a multiple of PACKED_AT_ONCE. Every thread writes 16 bytes at a time.
__device__ inline void pack_rows(const In* from, In* to, int rows, int columns, int pitch) {
  const int in_row = pitch / PACKED_AT_ONCE;
  const size_t all = static_cast<size_t>(rows) * in_row;
  for (size_t i = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x; i < all;
       i += static_cast<size_t>(gridDim.x) * blockDim.x) {
    const int row = static_cast<int>(i / in_row), column = static_cast<int>(i % in_row) * PACKED_AT_ONCE;
    const size_t at = static_cast<size_t>(row) * columns + column;
    uint4 packed;
    if (column + PACKED_AT_ONCE + 4 / static_cast<int>(sizeof(In)) <= columns) {
      // Words of four bytes around the elements, shifted into place.
      const size_t byte = at * sizeof(In);
      const unsigned* words = reinterpret_cast<const unsigned*>(from) + byte / 4;
      const unsigned shift = byte % 4 * 8;
      unsigned word[5], shifted[4];
#pragma unroll
      for (int j = 0; j < 5; ++j) word[j] = words[j];
#pragma unroll
      for (int j = 0; j < 4; ++j)
        shifted[j] = static_cast<unsigned>((static_cast<unsigned long long>(word[j + 1]) << 32 | word[j]) >> shift);
      packed = make_uint4(shifted[0], shifted[1], shifted[2], shifted[3]);
    } else {
      union {
        In elements[PACKED_AT_ONCE];
        uint4 all;
      } both;
      both.all = make_uint4(0, 0, 0, 0);
      for (int j = 0; j < PACKED_AT_ONCE && column + j < columns; ++j) both.elements[j] = from[at + j];
      packed = both.all;
    }
    reinterpret_cast<uint4*>(to)[i] = packed;
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

/// A matrix of `rows` rows as it lies in memory. 256 threads per block.
template <int HOW>
__device__ inline void pack_matrix(const In* from, In* to, int rows, int columns) {
  if constexpr (HOW == 1)
    pack_rows(from, to, rows, columns, (columns + PACKED_AT_ONCE - 1) / PACKED_AT_ONCE * PACKED_AT_ONCE);
  else if constexpr (HOW == 2)
    pack_transposed(from, to, rows, columns, (rows + PACKED_AT_ONCE - 1) / PACKED_AT_ONCE * PACKED_AT_ONCE);
}

extern "C" __global__ void __launch_bounds__(256)
    pack_operands(const In* a, const In* b, In* packed_a, In* packed_b, int m, int n, int k) {
  pack_matrix<PACK_A>(a, packed_a, TRANSPOSED_A ? k : m, TRANSPOSED_A ? m : k);
  pack_matrix<PACK_B>(b, packed_b, TRANSPOSED_B ? n : k, TRANSPOSED_B ? k : n);
}
