// The arithmetic of gemm.cu on the vector units: each thread multiplies its rows by its columns. Part of gemm.cu.
#pragma once

/// The THREAD_M x THREAD_N results of one thread. Its rows and columns come in packs, lanes_m and lanes_n packs apart:
/// the lanes of a warp then read shared memory, where A lies transposed, and write C without gaps.
class Arithmetic {
 public:
  /// How far a slice goes along K.
  static constexpr int slice = 1;

  /// Reads the operands of a slice of the tiles into this buffer.
  __device__ void load(int buffer, const Stored* a_tile, const Stored* b_tile, int k, const Place& place) {
    const Stored* const a = a_tile + k * a_stride + place.row + place.lane_m * pack_m;
    const Stored* const b = b_tile + k * b_stride + place.column + place.lane_n * pack_n;
#pragma unroll
    for (int i = 0; i < THREAD_M / pack_m; ++i) a_[buffer][i] = load_pack<pack_m>(a + i * lanes_m * pack_m);
#pragma unroll
    for (int j = 0; j < THREAD_N / pack_n; ++j) b_[buffer][j] = load_pack<pack_n>(b + j * lanes_n * pack_n);
  }

  /// Goes through the columns to and fro, so that each product shares a factor with the one before. At the turns, the
  /// new element of A and the result are in different banks too.
  __device__ void multiply(int buffer) {
#pragma unroll
    for (int i = 0; i < THREAD_M; ++i) {
#pragma unroll
      for (int step = 0; step < THREAD_N; ++step) {
        const int j = i % 2 == 0 ? THREAD_N - 1 - step : step;
        sum_[i * THREAD_N + j] += a_[buffer][i / pack_m].x[i % pack_m] * b_[buffer][j / pack_n].x[j % pack_n ^ in_pair];
      }
    }
  }

  __device__ float& sum(int i) { return sum_[i]; }

  __device__ void store(float* c, int m, int n, int first_row, int first_column, const Place& place) const {
    const bool packed = rows_take_packs<pack_n>(c, n);
#pragma unroll
    for (int i = 0; i < THREAD_M; ++i) {
      const int row = first_row + place.row + place.lane_m * pack_m + i / pack_m * lanes_m * pack_m + i % pack_m;
#pragma unroll
      for (int j = 0; j < THREAD_N; j += pack_n) {
        const int column = first_column + place.column + place.lane_n * pack_n + j * lanes_n;
        if (row >= m || column >= n) continue;
        float* const to = c + static_cast<long long>(row) * n + column;
        Pack<float, pack_n> pack;
#pragma unroll
        for (int v = 0; v < pack_n; ++v) pack.x[v] = sum_[i * THREAD_N + j + v];
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

 private:
  // Vectors of shared memory and of C lie in consecutive registers, whose banks alternate. With the pairs of B swapped,
  // an element of B and the result in its column are in different banks, so one product reads both at once.
  static constexpr int in_pair = b_layout == Layout::swapped_rows ? 1 : 0;
  static_assert(THREAD_N % (1 + in_pair) == 0, "a thread has whole pairs of columns");
  static constexpr int pack_m = THREAD_M % 4 == 0 ? 4 : THREAD_M % 2 == 0 ? 2 : 1;
  static constexpr int pack_n = THREAD_N % 4 == 0 ? 4 : THREAD_N % 2 == 0 ? 2 : 1;

  Pack<float, pack_m> a_[FRAGMENTS][THREAD_M / pack_m];
  Pack<float, pack_n> b_[FRAGMENTS][THREAD_N / pack_n];
  float sum_[THREAD_M * THREAD_N] = {};
};
