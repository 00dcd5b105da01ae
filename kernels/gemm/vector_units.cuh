// The arithmetic of gemm.cu on the vector units: each thread multiplies its rows by its columns. Part of gemm.cu.
#pragma once

/// The THREAD_M x THREAD_N results of one thread. Its rows are lanes_m apart; its columns come in packs, lanes_n packs
/// apart: the lanes of a warp then read shared memory and write C without gaps.
struct Results {
  static constexpr int pack_n = THREAD_N % 4 == 0 ? 4 : THREAD_N % 2 == 0 ? 2 : 1;
  static constexpr int pack_k = K_UNROLL % 4 == 0 ? 4 : K_UNROLL % 2 == 0 ? 2 : 1;
  float sum[THREAD_M][THREAD_N] = {};

  __device__ void accumulate(const Stored* a_tile, const Stored* b_tile, const Place& place) {
    const Stored* const a_rows = a_tile + (place.row + place.lane_m) * a_stride;
    const Stored* const b_columns = b_tile + place.column + place.lane_n * pack_n;
#pragma unroll 1
    for (int first = 0; first < BLOCK_K; first += K_UNROLL) {
#pragma unroll
      for (int k = 0; k < K_UNROLL; k += pack_k) {
        Pack<float, pack_k> a[THREAD_M];
#pragma unroll
        for (int i = 0; i < THREAD_M; ++i) a[i] = load_pack<pack_k>(a_rows + i * lanes_m * a_stride + first + k);
#pragma unroll
        for (int kk = 0; kk < pack_k; ++kk) {
          Pack<float, pack_n> b[THREAD_N / pack_n];
#pragma unroll
          for (int j = 0; j < THREAD_N / pack_n; ++j) {
            b[j] = load_pack<pack_n>(b_columns + (first + k + kk) * b_stride + j * lanes_n * pack_n);
          }
#pragma unroll
          for (int i = 0; i < THREAD_M; ++i) {
#pragma unroll
            for (int j = 0; j < THREAD_N; ++j) sum[i][j] += a[i].x[kk] * b[j / pack_n].x[j % pack_n];
          }
        }
      }
    }
  }

  __device__ void store(float* c, int m, int n, int first_row, int first_column, const Place& place, float4*) const {
    const bool packed = rows_take_packs<pack_n>(c, n);
#pragma unroll
    for (int i = 0; i < THREAD_M; ++i) {
      const int row = first_row + place.row + place.lane_m + i * lanes_m;
#pragma unroll
      for (int j = 0; j < THREAD_N; j += pack_n) {
        const int column = first_column + place.column + place.lane_n * pack_n + j * lanes_n;
        if (row >= m || column >= n) continue;
        float* const to = c + static_cast<long long>(row) * n + column;
        Pack<float, pack_n> pack;
#pragma unroll
        for (int v = 0; v < pack_n; ++v) pack.x[v] = sum[i][j + v];
        if (packed) {
          store_pack<pack_n>(to, pack);
        } else {
#pragma unroll
          for (int v = 0; v < pack_n; ++v) {
            if (column + v < n) to[v] = pack.x[v];
          }
        }
      }
    }
  }
};
