// Root mean square normalization over the rows of a matrix by its definition, in f64: a reference for rmsnorm.cu.
#include "../common/element.cuh"

/// Takes rmsnorm's arguments and ignores those in the middle. Grid: rows. Block: a power of two of threads, up to 1024.
extern "C" __global__ void rmsnorm_naive(const Element* x, const Element* gamma, Element* y, unsigned long long*, int,
                                         int columns, float eps) {
  __shared__ double scratch[1024];
  const Element* const from = x + static_cast<long long>(blockIdx.x) * columns;
  Element* const to = y + static_cast<long long>(blockIdx.x) * columns;
  const int thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  double squares = 0.0;
  for (int i = thread; i < columns; i += threads) squares += static_cast<double>(to_float(from[i])) * to_float(from[i]);
  scratch[thread] = squares;
  for (int half = threads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (thread < half) scratch[thread] += scratch[thread + half];
  }
  __syncthreads();
  const double root = sqrt(scratch[0] / columns + eps);
  for (int i = thread; i < columns; i += threads) {
    set(to[i], static_cast<float>(to_float(from[i]) / root * to_float(gamma[i])));
  }
}
