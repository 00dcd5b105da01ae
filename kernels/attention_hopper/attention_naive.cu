// The reference of attention.cu: a warp for each row of Q, in f32.
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

/// Grid: rows of the longest sequence, heads, sequences. Block: one warp.
extern "C" __global__ void attention_naive(const Number* q, const Number* k, const Number* v, Number* o,
                                           const int* starts, int seq, int heads, int kv_heads, float scale) {
  const int row = blockIdx.x, head = blockIdx.y, lane = threadIdx.x;
  const int begin = VARIABLE ? starts[blockIdx.z] : blockIdx.z * seq;
  const int length = VARIABLE ? starts[blockIdx.z + 1] - begin : seq;
  if (row >= length) return;
  const int keys = CAUSAL ? row + 1 : length;
  const long long q_row = (static_cast<long long>(begin + row) * heads + head) * HEAD_DIM;
  const long long kv_stride = static_cast<long long>(kv_heads) * HEAD_DIM;
  const long long kv_begin = begin * kv_stride + head / (heads / kv_heads) * HEAD_DIM;
  float maximum = -3e38f, total = 0, sums[HEAD_DIM / 32] = {};
  for (int first = 0; first < keys; first += 32) {
    const int key = first + lane;
    const float score = key < keys ? scale * dot(q + q_row, k + kv_begin + key * kv_stride) : -3e38f;
    const float larger = fmaxf(maximum, warp_maximum(score)), factor = exp2f(maximum - larger);
    const float weight = key < keys ? exp2f(score - larger) : 0.0f;
    maximum = larger;
    total = total * factor + warp_sum(weight);
    for (int i = 0; i < HEAD_DIM / 32; ++i) sums[i] *= factor;
    for (int j = 0; j < 32 && first + j < keys; ++j) {
      const float w = __shfl_sync(0xffffffffu, weight, j);
      for (int i = 0; i < HEAD_DIM / 32; ++i)
        sums[i] += w * static_cast<float>(v[kv_begin + (first + j) * kv_stride + lane + 32 * i]);
    }
  }
  for (int i = 0; i < HEAD_DIM / 32; ++i) o[q_row + lane + 32 * i] = Number(sums[i] / total);
}
