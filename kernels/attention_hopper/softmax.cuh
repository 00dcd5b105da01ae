// The softmax of 64 rows, block of columns after block: each thread has elements of two rows, and four neighbouring
// threads share them, as products leave their sums.
#pragma once

__device__ __forceinline__ float infinity() { return __int_as_float(0x7f800000); }

/// The largest of four neighbouring threads, and their sum.
__device__ __forceinline__ float max_of_quad(float x) {
  x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 1));
  return fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 2));
}
__device__ __forceinline__ float sum_of_quad(float x) {
  x += __shfl_xor_sync(0xffffffffu, x, 1);
  return x + __shfl_xor_sync(0xffffffffu, x, 2);
}

class Softmax {
 public:
  /// `scale` of the scores includes log2(e).
  __device__ explicit Softmax(float scale) : scale_(scale) {}

  /// Updates the maxima of the rows, and sets the factors that the sums of earlier blocks need.
  template <int COUNT>
  __device__ __forceinline__ void raise(const float (&scores)[COUNT], float (&factors)[2]) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const float before = maximum_[r];
      maximum_[r] = fmaxf(before, max_of_quad(row_maximum(scores, r)));
      // No column yet: infinity - infinity would be NaN.
      offset_[r] = maximum_[r] == -infinity() ? 0.0f : maximum_[r] * scale_;
      factors[r] = exp2f(before * scale_ - offset_[r]);
    }
  }
  /// Replaces scores by exp2(scale * (score - maximum)), and adds them to the sums of the rows.
  template <int COUNT>
  __device__ __forceinline__ void exponentiate(float (&scores)[COUNT], const float (&factors)[2]) {
#pragma unroll
    for (int i = 0; i < COUNT; ++i) scores[i] = exp2f(fmaf(scores[i], scale_, -offset_[i / 2 % 2]));
#pragma unroll
    for (int i = 0; i < 4; ++i) sums_[i] *= factors[i / 2];
#pragma unroll
    for (int i = 0; i < COUNT; ++i) sums_[i % 4] += scores[i];
  }

  /// The factor for the finished output of a row.
  __device__ __forceinline__ float finish(int r) const { return 1.0f / sum_of_quad(sums_[2 * r] + sums_[2 * r + 1]); }

 private:
  // Four chains, because each maximum waits for the one before it.
  template <int COUNT>
  __device__ __forceinline__ float row_maximum(const float (&scores)[COUNT], int r) const {
    float largest[4] = {scores[2 * r], scores[2 * r + 1], scores[2 * r + 4], scores[2 * r + 5]};
#pragma unroll
    for (int i = 8; i < COUNT; i += 4) {
#pragma unroll
      for (int j = 0; j < 2; ++j) largest[i / 4 % 2 * 2 + j] = fmaxf(largest[i / 4 % 2 * 2 + j], scores[i + 2 * r + j]);
    }
    return fmaxf(fmaxf(largest[0], largest[1]), fmaxf(largest[2], largest[3]));
  }

  float scale_;
  float maximum_[2] = {-infinity(), -infinity()}, offset_[2];
  float sums_[4] = {0, 0, 0, 0};  // row 0: even and odd columns; row 1
};
