// y = a * x + y; a thread does about ITEMS elements, a grid apart.
extern "C" __global__ void axpy(const float* x, float* y, int n, float a) {
  const int threads = gridDim.x * blockDim.x;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += threads) y[i] = a * x[i] + y[i];
}
extern "C" __global__ void axpy_naive(const float* x, float* y, int n, float a) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}
