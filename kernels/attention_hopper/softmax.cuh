// The softmax of 64 rows, block of columns after block: each thread has elements of two rows, and four neighbouring
// threads share them, as products leave their sums.
#pragma once

constexpr float infinity = __builtin_huge_valf();

/// 2^x for x <= 0 on the units of additions and multiplications, which special functions leave idle. A polynomial
/// for the fraction in [-0.5, 0.5]; its relative error is below 1e-4.
__device__ __forceinline__ float exp2_polynomial(float x) {
  x = fmaxf(x, -125.0f);
  const float shifted = x + 12582912.0f;  // 1.5 * 2^23: the integer stands in the lowest bits
  const float fraction = x - (shifted - 12582912.0f);
  float power = fmaf(0.0551717934f, fraction, 0.2426114948f);
  power = fmaf(power, fraction, 0.6932609989f);
  power = fmaf(power, fraction, 0.9999280516f);
  return __int_as_float(__float_as_int(power) + (__float_as_int(shifted) << 23));
}

/// Largest of four neighbouring threads, and their sum.
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

  /// Replaces scores by exp(scale * (score - maximum)), and sets the factors that the sums of earlier blocks need.
  template <int COUNT>
  __device__ __forceinline__ void update(float (&scores)[COUNT], float (&factors)[2]) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const float before = maximum_[r];
      const float found = max_of_quad(row_maximum(scores, r));
      // LAZY: sums in f32 have room for a maximum that is too small by a factor of 2^8.
      if (!LAZY || (found - before) * scale_ > 8.0f) maximum_[r] = fmaxf(before, found);
      offset_[r] = maximum_[r] == -infinity ? 0.0f : maximum_[r] * scale_;
      factors[r] = exp2f(before * scale_ - offset_[r]);
    }
#pragma unroll
    for (int i = 0; i < COUNT; ++i) {
      const float x = fmaf(scores[i], scale_, -offset_[i / 2 % 2]);
      scores[i] = EXP_POLYNOMIAL && i / 4 % (EXP_POLYNOMIAL + !EXP_POLYNOMIAL) == 0 ? exp2_polynomial(x) : exp2f(x);
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) sums_[i] *= factors[i / 2];
#pragma unroll
    for (int i = 0; i < COUNT; ++i) sums_[i % 4] += scores[i];
  }

  /// The factor for the finished sums of a row.
  __device__ __forceinline__ float finish(int r) const {
    return 1.0f / sum_of_quad(sums_[2 * r] + sums_[2 * r + 1]);
  }

 private:
  // Four chains, because a chain of dependent maxima waits for each one.
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
  float maximum_[2] = {-infinity, -infinity}, offset_[2];
  float sums_[4] = {0, 0, 0, 0};  // row 0: even and odd columns; row 1
};
