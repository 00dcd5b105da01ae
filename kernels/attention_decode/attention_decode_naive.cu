// The reference of attention_decode.cu: a warp for each row of Q, in f32.
#include "../common/attention_row.cuh"

/// Grid: positions, heads, sequences. Block: one warp.
extern "C" __global__ void attention_decode_naive(const Number* q, const Number* k, const Number* v, Number* o,
                                                  const int* lengths, int queries, int keys, int kv_heads, int group,
                                                  float scale) {
  const int position = blockIdx.x, head = blockIdx.y, sequence = blockIdx.z, length = lengths[sequence];
  const long long row = ((static_cast<long long>(sequence) * queries + position) * kv_heads * group + head) * HEAD_DIM;
  const long long pitch = static_cast<long long>(kv_heads) * HEAD_DIM;
  const long long first_key = static_cast<long long>(sequence) * keys * pitch + head / group * HEAD_DIM;
  const int visible = CAUSAL ? length - queries + 1 + position : length;
  attend_row(o + row, q + row, k + first_key, v + first_key, pitch, visible, scale);
}
