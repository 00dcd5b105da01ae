// y[j][i] = x[i][j] by its definition, one thread per element: a reference for transpose.cu.

/// Takes transpose's arguments. Threads: x along the columns of x, y along its rows, at least as many as x has
/// elements.
extern "C" __global__ void transpose_naive(const float* x, float* y, int rows, int columns) {
  const int column = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int row = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y);
  if (row >= rows || column >= columns) return;
  y[static_cast<long long>(column) * rows + row] = x[static_cast<long long>(row) * columns + column];
}
