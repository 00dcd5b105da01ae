// y = scale * H * x for each row of a matrix, by the definition of the Hadamard matrix: a reference for hadamard.cu.
#include "../common/element.cuh"

/// Grid: any number of blocks, of threads that take results in turns. A sum of 64 terms in f32 is part of one in f64.
extern "C" __global__ void hadamard_naive(const Element* x, Element* y, int rows, float scale) {
  const long long results = static_cast<long long>(rows) * N, threads = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < results; i += threads) {
    const int row_of_matrix = static_cast<int>(i % N);
    const Element* const row = x + i / N * N;
    double sum = 0.0;
    for (int first = 0; first < N; first += 64) {
      float part = 0.0f;
      for (int j = first; j < min_of(first + 64, N); ++j) {
        part += __popc(static_cast<unsigned>(row_of_matrix & j)) % 2 == 0 ? to_float(row[j]) : -to_float(row[j]);
      }
      sum += part;
    }
    set(y[i], static_cast<float>(scale * sum));
  }
}
