// The references for gemm_hopper: tiles of 64 x 64 in shared memory, products and sums in f32. A block of 256 threads
// per tile.
#include "problem.cuh"

constexpr int TILE = 64, DEPTH = 16;

__device__ inline void multiply(const In* a, const In* b, Out* c, const Extra& extra, int m, int n, int k) {
  __shared__ float tile_a[DEPTH][TILE + 1], tile_b[DEPTH][TILE + 1];
  const int row = blockIdx.y * TILE, column = blockIdx.x * TILE;
  const int i0 = threadIdx.x / 16 * 4, j0 = threadIdx.x % 16 * 4;
  float sums[4][4] = {};
  for (int step = 0; step < k; step += DEPTH) {
    for (int at = threadIdx.x; at < TILE * DEPTH; at += 256) {
      // Neighbours read neighbours in memory.
      const int i = TRANSPOSED_A ? at % TILE : at / DEPTH, ka = TRANSPOSED_A ? at / TILE : at % DEPTH;
      const int j = TRANSPOSED_B ? at / DEPTH : at % TILE, kb = TRANSPOSED_B ? at % DEPTH : at / TILE;
      const size_t in_a =
          TRANSPOSED_A ? static_cast<size_t>(step + ka) * m + row + i : static_cast<size_t>(row + i) * k + step + ka;
      const size_t in_b = TRANSPOSED_B ? static_cast<size_t>(column + j) * k + step + kb
                                       : static_cast<size_t>(step + kb) * n + column + j;
      tile_a[ka][i] = row + i < m && step + ka < k ? static_cast<float>(a[in_a]) : 0.0f;
      tile_b[kb][j] = column + j < n && step + kb < k ? static_cast<float>(b[in_b]) : 0.0f;
    }
    __syncthreads();
    for (int l = 0; l < DEPTH; ++l)
      for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j) sums[i][j] += tile_a[l][i0 + i] * tile_b[l][j0 + j];
    __syncthreads();
  }
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j)
      if (row + i0 + i < m && column + j0 + j < n)
        c[static_cast<size_t>(row + i0 + i) * n + column + j0 + j] =
            Out(finished(sums[i][j], extra, row + i0 + i, column + j0 + j, n));
}

extern "C" __global__ void __launch_bounds__(256)
    gemm_reference(const In* a, const In* b, Out* c, const Out* d, const float* bias, int m, int n, int k, float alpha,
                   float beta) {
  multiply(a, b, c, {d, bias, alpha, beta}, m, n, k);
}

// blockIdx.z: the group, whose rows end before ends[blockIdx.z].
extern "C" __global__ void __launch_bounds__(256)
    gemm_grouped_reference(const In* a, const In* b, Out* c, const int* ends, int n, int k) {
  const size_t group = blockIdx.z, begin = group == 0 ? 0 : ends[group - 1];
  const int rows = ends[group] - static_cast<int>(begin);
  if (static_cast<int>(blockIdx.y) * TILE < rows)
    multiply(a + begin * k, b + group * k * n, c + begin * n, {}, rows, n, k);
}
