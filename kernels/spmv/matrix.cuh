// A sparse matrix in CSR form, for spmv.cu and its reference.
#pragma once

#include "../common/pack.cuh"

struct Matrix {
  const int* row_begin;  // the first element of each row, and the number of elements
  const unsigned int* column;
  const VALUE* value;
  int rows;
};
