// The reference of sparse_attention.cu: a warp for each head of each position, in f32.
#include "../common/attention_row.cuh"
#include "choice.cuh"

/// Whether an earlier slot has the same block.
__device__ bool repeats(const int* choices, int slot, int position, int block) {
  for (int i = 0; i < slot; ++i) {
    if (chosen_block(choices[i], position) == block) return true;
  }
  return false;
}

/// Grid: positions, heads, sequences. Block: one warp, whose lanes share the columns.
extern "C" __global__ void sparse_attention_naive(const Number* q, const Number* k, const Number* v, Number* o,
                                                  const int* choices, int seq, int kv_heads, int selected,
                                                  float scale) {
  constexpr int columns = HEAD_DIM / 32;
  const int position = blockIdx.x, lane = threadIdx.x;
  const long long begin = static_cast<long long>(blockIdx.z) * seq, heads = gridDim.y;
  const long long q_row = ((begin + position) * heads + blockIdx.y) * HEAD_DIM + lane;
  const long long kv_head = blockIdx.y / (heads / kv_heads);
  const int* const own = choices + ((begin + position) * kv_heads + kv_head) * selected;
  float query[columns], maximum = -3e38f, total = 0, sums[columns] = {};
  for (int i = 0; i < columns; ++i) query[i] = scale * static_cast<float>(q[q_row + 32 * i]);
  for (int slot = 0; slot < selected; ++slot) {
    const int block = chosen_block(own[slot], position);
    if (block < 0 || repeats(own, slot, position, block)) continue;
    const int end = min((block + 1) * BLOCK_SIZE, position + 1);
    for (int key = block * BLOCK_SIZE; key < end; ++key) {
      const long long row = ((begin + key) * kv_heads + kv_head) * HEAD_DIM + lane;
      float product = 0;
      for (int i = 0; i < columns; ++i) product += query[i] * static_cast<float>(k[row + 32 * i]);
      const float score = warp_sum(product), larger = fmaxf(maximum, score), factor = exp2f(maximum - larger);
      const float weight = exp2f(score - larger);
      maximum = larger;
      total = total * factor + weight;
      for (int i = 0; i < columns; ++i) sums[i] = sums[i] * factor + weight * static_cast<float>(v[row + 32 * i]);
    }
  }
  for (int i = 0; i < columns; ++i) o[q_row + 32 * i] = Number(total > 0 ? sums[i] / total : 0.0f);
}
