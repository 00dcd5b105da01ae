// The reference of attention.cu: a warp for each row of Q, in f32.
#include "../common/attention_row.cuh"

/// Grid: rows of the longest sequence, heads, sequences. Block: one warp.
extern "C" __global__ void attention_naive(const Number* q, const Number* k, const Number* v, Number* o,
                                           const int* starts, int seq, int heads, int kv_heads, float scale) {
  const int row = blockIdx.x, head = blockIdx.y;
  const int begin = VARIABLE ? starts[blockIdx.z] : blockIdx.z * seq;
  const int length = VARIABLE ? starts[blockIdx.z + 1] - begin : seq;
  if (row >= length) return;
  const long long q_row = (static_cast<long long>(begin + row) * heads + head) * HEAD_DIM;
  const long long pitch = static_cast<long long>(kv_heads) * HEAD_DIM;
  const long long first_key = begin * pitch + head / (heads / kv_heads) * HEAD_DIM;
  attend_row(o + q_row, q + q_row, k + first_key, v + first_key, pitch, CAUSAL ? row + 1 : length, scale);
}
