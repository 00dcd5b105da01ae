// A sparse matrix in CSR form, for spmv.cu and its reference: its arrays as they are, or arrays that stand for a matrix
// of any size.
#pragma once

#include "../common/pack.cuh"

/// With GENERATED, row_begin and column hold 0, 1, 2, ..., and the matrix follows from these numbers: row i has `width`
/// elements, and `tail` times 32, 1024 and 32768 more if these divide i. Element k lies less than `spread` columns right
/// of k times columns / elements, beyond the last column at the first ones. The arrays are read as any matrix's are.
struct Matrix {
  const int* row_begin;  // the first element of each row, and the number of elements
  const unsigned int* column;
  const VALUE* value;
  int rows, columns;
  int width, tail, spread;
  long long columns_per_element;  // 2^32 times the number of columns over that of elements

  __device__ int begin(int row) const {
    const int stored = row_begin[row];
    if constexpr (!GENERATED) return stored;
    int begin = stored * width;
#pragma unroll
    for (int shift = 5; shift <= 15; shift += 5) {
      const int rows_before = ceil_div(stored, 1 << shift);  // with this number as a divisor
      begin += tail * (rows_before << shift);
    }
    return begin;
  }

  /// The column of element k, for which column[k] has `stored`.
  __device__ int column_of(int k, unsigned int stored) const {
    if constexpr (!GENERATED) return static_cast<int>(stored);
    const int place = static_cast<int>(static_cast<unsigned long long>(k) * columns_per_element >> 32);
    const unsigned int scattered = stored * 2654435769u;  // 2^32 / golden ratio
    const int away = static_cast<int>(static_cast<unsigned long long>(scattered) * static_cast<unsigned int>(spread) >> 32);
    const int column = place + away;
    return column < columns ? column : column - columns;
  }
};
