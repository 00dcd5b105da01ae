// The arithmetic of gemm.cu on matrix cores: the lanes of a warp multiply fragments together. Part of gemm.cu.
#pragma once

#if !INPUT_F16 && !INPUT_BF16
#error "TENSOR_CORES = 1 takes f16 or bf16 inputs"
#endif

#include "matrix_instruction.cuh"

/// A warp's warp_m x warp_n results, spread over its lanes as the instruction likes.
class Arithmetic {
 public:
  /// How far a slice goes along K.
  static constexpr int slice = instruction_k;

  /// Reads the operands of a slice of the tiles into this buffer.
  __device__ void load(int buffer, const Stored* a_tile, const Stored* b_tile, int k, const Place& place) {
#pragma unroll
    for (int i = 0; i < across_m; ++i) {
      a_[buffer][i] = load_a(a_tile + (place.row + i * instruction_m) * a_stride + k, a_stride, place.lane);
    }
#pragma unroll
    for (int j = 0; j < across_n; j += 2) {
      FragmentB b[2];
      load_b(b, b_tile + k * b_stride + place.column + j * instruction_n, b_stride, place.lane);
      b_[buffer][j] = b[0];
      b_[buffer][j + 1] = b[1];
    }
  }

  __device__ void multiply(int buffer) {
#pragma unroll
    for (int i = 0; i < across_m; ++i) {
#pragma unroll
      for (int j = 0; j < across_n; ++j) {
        multiply_add(sum_ + (i * across_n + j) * sums_per_instruction, a_[buffer][i], b_[buffer][j]);
      }
    }
  }

  __device__ float& sum(int i) { return sum_[i]; }

  __device__ void store(float* c, int m, int n, int first_row, int first_column, const Place& place) const {
    const bool packed = rows_take_packs<2>(c, n);
#pragma unroll
    for (int i = 0; i < THREAD_M * THREAD_N; i += 2) {
      const int fragment = i / sums_per_instruction, in_fragment = i % sums_per_instruction;
      const int row = first_row + place.row + fragment / across_n * instruction_m + sum_row(place.lane, in_fragment);
      const int column =
          first_column + place.column + fragment % across_n * instruction_n + sum_column(place.lane, in_fragment);
      if (row >= m || column >= n) continue;
      float* const to = c + static_cast<long long>(row) * n + column;
      if (packed) {
        store_pack<2>(to, Pack<float, 2>{{sum_[i], sum_[i + 1]}});
      } else {
        to[0] = sum_[i];
        if (column + 1 < n) to[1] = sum_[i + 1];
      }
    }
  }

 private:
  static constexpr int across_m = warp_m / instruction_m, across_n = warp_n / instruction_n;
  static_assert(warp_m % instruction_m == 0 && warp_n % (2 * instruction_n) == 0,
                "a warp tile is made of whole fragments, those of B in pairs");

  FragmentA a_[FRAGMENTS][across_m];
  FragmentB b_[FRAGMENTS][across_n];
  float sum_[THREAD_M * THREAD_N] = {};
};
