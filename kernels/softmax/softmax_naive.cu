// Softmax over the rows of a matrix by its definition, in f64: a reference for softmax.cu.
#include "../common/element.cuh"

/// Takes softmax's arguments and ignores those in the middle. Grid: rows. Block: a power of two of threads, up to 1024.
extern "C" __global__ void softmax_naive(const Element* x, Element* y, unsigned long long*, int, int columns) {
  __shared__ double scratch[1024];
  const int thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  const Element* const from = x + static_cast<long long>(blockIdx.x) * columns;
  Element* const to = y + static_cast<long long>(blockIdx.x) * columns;
  double maximum = -infinity();
  for (int i = thread; i < columns; i += threads) maximum = fmax(maximum, static_cast<double>(to_float(from[i])));
  scratch[thread] = maximum;
  for (int half = threads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (thread < half) scratch[thread] = fmax(scratch[thread], scratch[thread + half]);
  }
  __syncthreads();
  maximum = scratch[0];
  __syncthreads();
  double sum = 0.0;
  for (int i = thread; i < columns; i += threads) sum += exp(to_float(from[i]) - maximum);
  scratch[thread] = sum;
  for (int half = threads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (thread < half) scratch[thread] += scratch[thread + half];
  }
  __syncthreads();
  sum = scratch[0];
  for (int i = thread; i < columns; i += threads) {
    set(to[i], static_cast<float>(exp(to_float(from[i]) - maximum) / sum));
  }
}
