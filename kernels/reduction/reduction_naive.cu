// The sum of n f32 values by one block: what reduction.cu can be checked against.
#include "../common/portable.cuh"

/// Takes reduction's arguments and ignores the middle three. Grid: 1. Block: a power of two of threads, up to
/// 1024.
extern "C" __global__ void reduction_naive(const float* x, float* sum, float*, float*, unsigned int*, long long n) {
  __shared__ float scratch[1024];
  float mine = 0.0f;
  for (long long i = threadIdx.x; i < n; i += blockDim.x) mine += x[i];
  scratch[threadIdx.x] = mine;
  for (unsigned int half = blockDim.x / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) scratch[threadIdx.x] += scratch[threadIdx.x + half];
  }
  if (threadIdx.x == 0) *sum = scratch[0];
}
