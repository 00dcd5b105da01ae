// The sum, mean or maximum of an array [outer, n, inner] over its middle axis. The parameters are macros from -D;
// README.md describes each. OP names the operation; OVER_ROWS: whether inner is 1.
#include "../common/axis.cuh"

struct SumSummary {
  float word[1];

  __device__ static SumSummary nothing() { return {{0.0f}}; }
  __device__ void merge(const SumSummary& other) { word[0] += other.word[0]; }
  template <int WIDTH>
  __device__ void reduce() {
    word[0] = lane_sum<WIDTH>(word[0]);
  }
};

/// NaN if an element is NaN.
struct MaxSummary {
  float word[1];

  __device__ static MaxSummary nothing() { return {{-infinity()}}; }
  __device__ void merge(const MaxSummary& other) {
    if (!(word[0] >= other.word[0]) && word[0] == word[0]) word[0] = other.word[0];
  }
  template <int WIDTH>
  __device__ void reduce() {
#pragma unroll
    for (int bits = WIDTH / 2; bits > 0; bits /= 2) merge({{shuffle_xor(word[0], bits)}});
  }
};

namespace op {
struct sum {
  using Summary = SumSummary;
  __device__ static float result(float value, int) { return value; }
};
struct mean {
  using Summary = SumSummary;
  __device__ static float result(float value, int n) { return value / static_cast<float>(n); }
};
struct max {
  using Summary = MaxSummary;
  __device__ static float result(float value, int) { return value; }
};
}  // namespace op

/// Takes the elements as they are.
struct Reduction {
  using Summary = op::OP::Summary;
  struct Weights {};
  int n;

  __device__ void fetch(Weights&, int) const {}
  __device__ void weigh(float (&)[VECTOR], const Weights&, int) const {}
  __device__ float weight_at(int) const { return 1.0f; }
  __device__ float term(float x, float) const { return x; }
  __device__ float result(float value) const { return op::OP::result(value, n); }
};

/// x: [outer, n, inner]; y: [outer, inner]. Grid, block, partials and counters: see reduce_rows and reduce_columns.
extern "C" __global__ void LAUNCH_BOUNDS(THREADS* ROWS, 1)
    reduce_axis(const Element* x, Element* y, float* partials, unsigned int* counters, int outer, int n, int inner) {
  const Reduction task{n};
#if OVER_ROWS
  static_assert(PARTS == 1 || ROWS == 1, "blocks that share a row work on no other");
  reduce_rows(task, x, y, partials, counters, outer, n);
#else
  reduce_columns(task, x, y, partials, counters, n, inner);
#endif
}
