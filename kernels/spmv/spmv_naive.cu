// y = A x for a sparse matrix in CSR form by its definition, one thread per row, sums in f64: the reference for spmv.cu.
#include "matrix.cuh"

/// Takes spmv's arguments. Threads: at least as many as rows.
extern "C" __global__ void spmv_naive(const int* row_begin, const unsigned int* column, const VALUE* value,
                                      const VALUE* x, VALUE* y, int rows) {
  const int row = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (row >= rows) return;
  double sum = 0;
  for (int k = row_begin[row]; k < row_begin[row + 1]; ++k) sum += static_cast<double>(value[k]) * x[column[k]];
  y[row] = static_cast<VALUE>(sum);
}
