extern "C" __global__ void row_sum(const float* x, float* y, int n) {
  __shared__ float part[BLOCK];
  float sum = 0;
#pragma unroll UNROLL
  for (int i = threadIdx.x; i < n; i += BLOCK) sum += x[blockIdx.x * n + i];
  part[threadIdx.x] = sum;
  for (int half = BLOCK / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
  }
  if (threadIdx.x == 0) y[blockIdx.x] = part[0];
}
