// Counts keys in bins, one thread per key, all in global memory: the reference for histogram.cu.
#include "bin.cuh"

/// Takes histogram's arguments. Grid and block: any, of one dimension.
extern "C" __global__ void histogram_naive(const KEY* keys, unsigned int* counts, long long n) {
  const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += step) {
    atomicAdd(counts + bin_of(keys[i]), 1u);
  }
}
