extern "C" __global__ void combine(const float* x, float* y, float alpha, int m, int n, int transposed, int negated) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= m * n) return;
  const float value = alpha * (transposed ? x[i % n * m + i / n] : x[i]);
  y[i] = negated ? -value : value;
}
