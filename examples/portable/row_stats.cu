// The same source for CUDA, HIP and the CPU: docs/portable-kernels.md explains it.
#include <cuda_fp16.h>
#include <xtune/portable.cuh>

// For each row, which has 32 lanes of a block: the sum of the squares, and the number of negative elements.
extern "C" __global__ void XTUNE_LAUNCH_BOUNDS(ROWS_PER_BLOCK * 32, 1)
    row_stats(const __half* x, float* squares, int* negative, int rows, int columns) {
  const int lane = threadIdx.x % xtune::lane_count;
  const int row = blockIdx.x * ROWS_PER_BLOCK + threadIdx.x / xtune::lane_count;
  if (row >= rows) return;  // all 32 lanes or none
  float sum = 0;
  int below_zero = 0;
#pragma unroll UNROLL
  for (int first = 0; first < columns; first += xtune::lane_count) {
    const int column = first + lane;
    const float value = column < columns ? __half2float(x[row * columns + column]) : 0.0f;
    sum += value * value;
    below_zero += __popc(xtune::ballot(value < 0.0f));
  }
  for (int offset = xtune::lane_count / 2; offset > 0; offset /= 2) sum += xtune::shuffle_down(sum, offset);
  if (lane == 0) {
    squares[row] = sum;
    negative[row] = below_zero;
  }
}

// The same without lanes: what the results are compared with.
extern "C" __global__ void row_stats_simple(const __half* x, float* squares, int* negative, int rows, int columns) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 0;
  int below_zero = 0;
  for (int column = 0; column < columns; ++column) {
    const float value = __half2float(x[row * columns + column]);
    sum += value * value;
    if (value < 0.0f) ++below_zero;
  }
  squares[row] = sum;
  negative[row] = below_zero;
}
