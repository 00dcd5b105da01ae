// A star of RADIUS in three dimensions by its definition, one thread per element: the reference for stencil_3d.cu.

/// Takes stencil_3d's arguments. Threads: x along the columns, y along the rows, z along the planes, at least as many
/// as the grid has elements.
extern "C" __global__ void stencil_3d_naive(const ELEMENT* x, ELEMENT* y, int planes, int rows, int columns, ELEMENT w0,
                                            ELEMENT w1, ELEMENT w2, ELEMENT w3, ELEMENT w4) {
  const int column = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int row = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y);
  const int plane = static_cast<int>(blockIdx.z * blockDim.z + threadIdx.z);
  if (column >= columns || row >= rows || plane >= planes) return;
  const auto at = [&](int z, int i, int j) {
    const bool inside = z >= 0 && z < planes && i >= 0 && i < rows && j >= 0 && j < columns;
    return inside ? static_cast<double>(x[(static_cast<long long>(z) * rows + i) * columns + j]) : 0.0;
  };
  const ELEMENT weight[] = {w0, w1, w2, w3, w4};
  double sum = weight[0] * at(plane, row, column);
  for (int r = 1; r <= RADIUS; ++r) {
    sum += weight[r] * (at(plane, row, column - r) + at(plane, row, column + r) + at(plane, row - r, column) +
                        at(plane, row + r, column) + at(plane - r, row, column) + at(plane + r, row, column));
  }
  y[(static_cast<long long>(plane) * rows + row) * columns + column] = static_cast<ELEMENT>(sum);
}
