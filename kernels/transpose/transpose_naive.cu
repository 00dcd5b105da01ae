// y[j][i] = x[i][j] by its definition, one thread per element: a reference for transpose.cu.
#if ELEMENT_BYTES == 1
using Unit = unsigned char;
#elif ELEMENT_BYTES == 2
using Unit = unsigned short;
#else
using Unit = unsigned int;
#endif

/// Takes transpose's arguments; the last does not matter here. Threads: x along the columns of x, y along its rows, at
/// least as many as x has elements.
extern "C" __global__ void transpose_naive(const Unit* x, Unit* y, int rows, int columns, int) {
  const int column = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int row = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y);
  if (row >= rows || column >= columns) return;
  y[static_cast<long long>(column) * rows + row] = x[static_cast<long long>(row) * columns + column];
}
