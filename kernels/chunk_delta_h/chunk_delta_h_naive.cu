// The reference of chunk_delta_h.cu: one block for each sequence of a batch and head, one thread for each column of v,
// in f32.
#include <xtune/narrow.cuh>

#if INPUT_BF16
using Number = xtune::bf16;
#else
using Number = xtune::f16;
#endif

constexpr int rows_of_chunk = 64;

/// Grid: heads, batches. Block: DV threads.
extern "C" __global__ void chunk_delta_h_naive(const Number* k, const Number* w, const Number* u, const float* g,
                                               const float* initial, Number* h, Number* v_new, float* last, int length,
                                               int heads, float g_scale, float k_scale) {
  const int column = threadIdx.x, head = blockIdx.x;
  const long long batch = blockIdx.y;
  const int chunks = (length + rows_of_chunk - 1) / rows_of_chunk;
  float state[DK], values[rows_of_chunk];
  for (int i = 0; i < DK; ++i) state[i] = INITIAL ? initial[((batch * heads + head) * DK + i) * DV + column] : 0.0f;
  for (int c = 0; c < chunks; ++c) {
    const int rows = min(rows_of_chunk, length - c * rows_of_chunk);
    const long long first = (batch * length + c * rows_of_chunk) * heads + head;  // of [batches, length, heads]
    const float g_last = g[first + static_cast<long long>(rows - 1) * heads];
    for (int i = 0; i < DK; ++i) h[(((batch * chunks + c) * heads + head) * DK + i) * DV + column] = Number(state[i]);
    for (int t = 0; t < rows; ++t) {
      const long long row = first + static_cast<long long>(t) * heads;
      float sum = static_cast<float>(u[row * DV + column]);
      for (int i = 0; i < DK; ++i) sum -= static_cast<float>(w[row * DK + i]) * state[i];
      v_new[row * DV + column] = Number(sum);
      values[t] = sum * k_scale * exp2f(g_scale * (g_last - g[row]));
    }
    for (int i = 0; i < DK; ++i) state[i] *= exp2f(g_scale * g_last);
    for (int t = 0; t < rows; ++t) {
      const long long row = (first + static_cast<long long>(t) * heads) * DK;
      for (int i = 0; i < DK; ++i) state[i] += static_cast<float>(k[row + i]) * values[t];
    }
  }
  for (int i = 0; i < DK; ++i) last[((batch * heads + head) * DK + i) * DV + column] = state[i];
}
