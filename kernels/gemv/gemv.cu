// y = A x, or y = x A, for a row-major matrix A of any size. The parameters are macros from -D; README.md describes
// each. ROW_VECTOR: whether x is multiplied from the left.
#include "../common/axis.cuh"

struct DotSummary {
  float word[1];

  __device__ static DotSummary nothing() { return {{0.0f}}; }
  __device__ void merge(const DotSummary& other) { word[0] += other.word[0]; }
  template <int WIDTH>
  __device__ void reduce() {
    word[0] = lane_sum<WIDTH>(word[0]);
  }
};

/// Multiplies the elements of A with those of x.
struct Product {
  using Summary = DotSummary;
  using Weights = AnyWords<VECTOR>;
  const Element* x;
  int length;

  __device__ void fetch(Weights& weights, int column) const { weights.fetch(x, column); }
  __device__ void weigh(float (&weight)[VECTOR], const Weights& weights, int column) const {
    const ElementPack pack = weights.cut(x, column, length);
#pragma unroll
    for (int v = 0; v < VECTOR; ++v) weight[v] = pack.at(v);
  }
  __device__ float weight_at(int index) const { return to_float(x[index]); }
  __device__ float term(float a, float weight) const { return a * weight; }
  __device__ float result(float value) const { return value; }
};

/// a: m x n. Grid, block, partials and counters: see reduce_rows and reduce_columns.
extern "C" __global__ void LAUNCH_BOUNDS(THREADS* ROWS, 1)
    gemv(const Element* __restrict__ a, const Element* __restrict__ x, Element* y, float* partials,
         unsigned int* counters, int m, int n) {
  const Product task{x, ROW_VECTOR ? m : n};
#if ROW_VECTOR
  reduce_columns(task, a, y, partials, counters, m, n);
#else
  static_assert(PARTS == 1 || ROWS == 1, "blocks that share a row work on no other");
  reduce_rows(task, a, y, partials, counters, m, n);
#endif
}
