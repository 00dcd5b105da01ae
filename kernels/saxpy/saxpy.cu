// y = a * x + y for n elements. A block takes BLOCK * ITEMS of them, and a thread every BLOCK-th of these, so that
// neighbouring threads read neighbouring elements.
extern "C" __global__ void saxpy(float a, const float* __restrict__ x, float* __restrict__ y, int n) {
  const int first = blockIdx.x * (BLOCK * ITEMS) + threadIdx.x;
#pragma unroll
  for (int item = 0; item < ITEMS; ++item) {
    const int i = first + item * BLOCK;
    if (i < n) y[i] = a * x[i] + y[i];
  }
}
