// The reference of gated_delta.cu: the recurrence, row after row, in f32. One block for each sequence of a batch and
// head, one thread for each column of v.
#include <xtune/narrow.cuh>

#if INPUT_BF16
using Number = xtune::bf16;
#else
using Number = xtune::f16;
#endif

__device__ float inverse_norm(const Number* x) {
  float sum = 1e-6f;
  for (int i = 0; i < DK; ++i) sum += static_cast<float>(x[i]) * static_cast<float>(x[i]);
  return 1.0f / sqrtf(sum);
}

/// Grid: heads, batches. Block: DV threads.
extern "C" __global__ void gated_delta_naive(const Number* q, const Number* k, const Number* v,
                                             const float* gate_logits, const float* beta_logits, Number* o, float* last,
                                             int length, int heads, float rate, float scale) {
  const int column = threadIdx.x, head = blockIdx.x;
  const long long batch = blockIdx.y;
  float state[DK] = {};
  for (int t = 0; t < length; ++t) {
    const long long row = (batch * length + t) * heads + head;
    const Number *q_row = q + row * DK, *k_row = k + row * DK;
    const float q_norm = inverse_norm(q_row), k_norm = inverse_norm(k_row);
    const float softplus = fmaxf(gate_logits[row], 0.0f) + log1pf(expf(-fabsf(gate_logits[row])));
    const float gate = exp2f(-rate * softplus), beta = 1.0f / (1.0f + expf(-beta_logits[row]));
    float known = 0, out = 0;
    for (int i = 0; i < DK; ++i) {
      state[i] *= gate;
      known += static_cast<float>(k_row[i]) * k_norm * state[i];
    }
    const float change = beta * (static_cast<float>(v[row * DV + column]) - known) * k_norm;
    for (int i = 0; i < DK; ++i) {
      state[i] += static_cast<float>(k_row[i]) * change;
      out += static_cast<float>(q_row[i]) * state[i];
    }
    o[row * DV + column] = Number(scale * q_norm * out);
  }
  for (int i = 0; i < DK; ++i) last[((batch * heads + head) * DK + i) * DV + column] = state[i];
}
