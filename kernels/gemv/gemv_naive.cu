// y = A x, or y = x A, by its definition, in f64, a block for each result: a reference for gemv.cu.
#include "../common/element.cuh"

/// Takes gemv's arguments and ignores those in the middle. Grid: one block for each result. Block: a power of two of
/// threads, up to 1024.
extern "C" __global__ void gemv_naive(const Element* a, const Element* x, Element* y, float*, unsigned int*, int m,
                                      int n) {
  __shared__ double scratch[1024];
  const int thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  const long long result = blockIdx.x;
  double sum = 0.0;
  for (long long i = thread; i < (ROW_VECTOR ? m : n); i += threads) {
    const Element element = ROW_VECTOR ? a[i * n + result] : a[result * n + i];
    sum += static_cast<double>(to_float(element)) * to_float(x[i]);
  }
  scratch[thread] = sum;
  for (int half = threads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (thread < half) scratch[thread] += scratch[thread + half];
  }
  if (thread == 0) set(y[result], static_cast<float>(scratch[0]));
}
