// A reduction over the middle axis by its definition, in f64, a block for each result: a reference for reduce_axis.cu.
#include "../common/element.cuh"

namespace op {
enum Kind { sum, mean, max };
}

__device__ inline double merged(double a, double b) {
  if (op::OP != op::max) return a + b;
  return a > b ? a : b;
}

/// Takes reduce_axis's arguments and ignores those in the middle. Grid: one block for each result. Block: a power of
/// two of threads, up to 1024.
extern "C" __global__ void reduce_axis_naive(const Element* x, Element* y, float*, unsigned int*, int, int n,
                                             int inner) {
  __shared__ double scratch[1024];
  const int thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  const long long result = blockIdx.x;
  const Element* const from = x + result / inner * n * inner + result % inner;
  double value = op::OP == op::max ? -static_cast<double>(infinity()) : 0.0;
  for (long long i = thread; i < n; i += threads) value = merged(value, to_float(from[i * inner]));
  scratch[thread] = value;
  for (int half = threads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (thread < half) scratch[thread] = merged(scratch[thread], scratch[thread + half]);
  }
  if (thread == 0) set(y[result], static_cast<float>(op::OP == op::mean ? scratch[0] / n : scratch[0]));
}
