// Layer normalization over the rows of a matrix by its definition, in f64: a reference for layernorm.cu.
#include "../common/element.cuh"

/// The sum over the block, in all threads. Block: a power of two of threads, up to 1024.
__device__ inline double block_sum(double value) {
  __shared__ double scratch[1024];
  const int thread = static_cast<int>(threadIdx.x);
  __syncthreads();  // scratch is free again
  scratch[thread] = value;
  for (int half = static_cast<int>(blockDim.x) / 2; half > 0; half /= 2) {
    __syncthreads();
    if (thread < half) scratch[thread] += scratch[thread + half];
  }
  __syncthreads();
  return scratch[0];
}

/// Takes layernorm's arguments and ignores those in the middle. Grid: rows. Block: as in block_sum.
extern "C" __global__ void layernorm_naive(const Element* x, const Element* gamma, const Element* beta, Element* y,
                                           unsigned long long*, int, int columns, float eps) {
  const Element* const from = x + static_cast<long long>(blockIdx.x) * columns;
  Element* const to = y + static_cast<long long>(blockIdx.x) * columns;
  const int first = static_cast<int>(threadIdx.x), step = static_cast<int>(blockDim.x);
  double sum = 0.0;
  for (int i = first; i < columns; i += step) sum += to_float(from[i]);
  const double mean = block_sum(sum) / columns;
  double squares = 0.0;
  for (int i = first; i < columns; i += step) squares += (to_float(from[i]) - mean) * (to_float(from[i]) - mean);
  const double deviation = sqrt(block_sum(squares) / columns + eps);
  for (int i = first; i < columns; i += step) {
    set(to[i], static_cast<float>((to_float(from[i]) - mean) / deviation * to_float(gamma[i]) + to_float(beta[i])));
  }
}
