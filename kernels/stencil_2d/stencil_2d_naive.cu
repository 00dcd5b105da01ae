// A 5-point or 9-point stencil by its definition, one thread per element: the reference for stencil_2d.cu.

/// Takes stencil_2d's arguments. Threads: x along the columns, y along the rows, at least as many as the grid has
/// elements.
extern "C" __global__ void stencil_2d_naive(const ELEMENT* x, ELEMENT* y, int rows, int columns, ELEMENT centre, ELEMENT edge, ELEMENT corner) {
  const int column = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int row = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y);
  if (row >= rows || column >= columns) return;
  double sum = 0;
  for (int i = -1; i <= 1; ++i) {
    for (int j = -1; j <= 1; ++j) {
      const int distance = (i != 0) + (j != 0);
      if (row + i < 0 || row + i >= rows || column + j < 0 || column + j >= columns) continue;
      if (distance == 2 && POINTS == 5) continue;
      const ELEMENT weight = distance == 0 ? centre : distance == 1 ? edge : corner;
      sum += static_cast<double>(weight) * x[static_cast<long long>(row + i) * columns + column + j];
    }
  }
  y[static_cast<long long>(row) * columns + column] = static_cast<ELEMENT>(sum);
}
