// A row of attention in f32, for references: a warp computes it.
#pragma once

#include <xtune/narrow.cuh>

#if INPUT_BF16
using Number = xtune::bf16;
#else
using Number = xtune::f16;
#endif

__device__ float warp_maximum(float x) {
  for (int step = 16; step > 0; step /= 2) x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, step));
  return x;
}
__device__ float warp_sum(float x) {
  for (int step = 16; step > 0; step /= 2) x += __shfl_xor_sync(0xffffffffu, x, step);
  return x;
}

__device__ float dot(const Number* a, const Number* b) {
  using Pack = xtune::pack<Number, 8>;
  float sum = 0;
  for (int i = 0; i < HEAD_DIM; i += 8) {
    const Pack x = *reinterpret_cast<const Pack*>(a + i), y = *reinterpret_cast<const Pack*>(b + i);
    for (int j = 0; j < 8; ++j) sum += static_cast<float>(x[j]) * static_cast<float>(y[j]);
  }
  return sum;
}

/// o = softmax(scale * q * K^T) * V for a row q. `pitch`: elements from one of the `keys` rows of K and V to the next.
__device__ inline void attend_row(Number* o, const Number* q, const Number* k, const Number* v, long long pitch,
                                  int keys, float scale) {
  const int lane = threadIdx.x;
  float maximum = -3e38f, total = 0, sums[HEAD_DIM / 32] = {};
  for (int first = 0; first < keys; first += 32) {
    const int key = first + lane;
    const float score = key < keys ? scale * dot(q, k + key * pitch) : -3e38f;
    const float larger = fmaxf(maximum, warp_maximum(score)), factor = exp2f(maximum - larger);
    const float weight = key < keys ? exp2f(score - larger) : 0.0f;
    maximum = larger;
    total = total * factor + warp_sum(weight);
    for (int i = 0; i < HEAD_DIM / 32; ++i) sums[i] *= factor;
    for (int j = 0; j < 32 && first + j < keys; ++j) {
      const float w = __shfl_sync(0xffffffffu, weight, j);
      for (int i = 0; i < HEAD_DIM / 32; ++i) sums[i] += w * static_cast<float>(v[(first + j) * pitch + lane + 32 * i]);
    }
  }
  for (int i = 0; i < HEAD_DIM / 32; ++i) o[lane + 32 * i] = Number(sums[i] / total);
}
