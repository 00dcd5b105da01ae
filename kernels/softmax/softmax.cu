// y[i][j] = exp(x[i][j]) / sum over k of exp(x[i][k]), without overflow, for the rows of a matrix of any size. The
// parameters are macros from -D; README.md describes each.
#include "../common/row_kernel.cuh"

/// exp(x) for x <= 0.
__device__ inline float exponential(float x) { return fast_exp2(x * 1.4426950408889634f); }

/// The maximum of elements, and the sum of exp(x - maximum).
struct SoftmaxSummary {
  float word[2];

  // The least float, not -infinity, whose difference to itself is not a number.
  __device__ static SoftmaxSummary nothing() { return {{-3.402823466e+38f, 0.0f}}; }
  __device__ float maximum() const { return word[0]; }
  __device__ float sum() const { return word[1]; }
  __device__ void raise(float maximum) {
    if (maximum <= word[0]) return;
    word[1] *= exponential(word[0] - maximum);
    word[0] = maximum;
  }
  __device__ void merge(const SoftmaxSummary& other) {
    raise(other.word[0]);
    word[1] += other.word[1] * exponential(other.word[0] - word[0]);
  }
  template <int WIDTH>
  __device__ void reduce() {
    const float own = word[0];
    word[0] = lane_max<WIDTH>(own);
    word[1] = lane_sum<WIDTH>(word[1] * exponential(own - word[0]));
  }
};

class Softmax {
 public:
  using Summary = SoftmaxSummary;
  struct Weights {};

  __device__ static void add_one(Summary& summary, float x) {
    summary.raise(x);
    summary.word[1] += exponential(x - summary.maximum());
  }
  __device__ static void add(Summary& summary, Chunk& chunk) {
    if (chunk.count == 0) return;
    ElementPack largest = chunk.pack[0];
#pragma unroll
    for (int i = 1; i < ITEMS; ++i) {
      if (i < chunk.count) largest.raise(chunk.pack[i]);
    }
    float maximum = largest.at(0);
#pragma unroll
    for (int v = 1; v < VECTOR; ++v) maximum = fmaxf(maximum, largest.at(v));
    forget_values(chunk);
    summary.raise(maximum);
    float sum[2] = {};
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) {
      if (i >= chunk.count) continue;
#pragma unroll
      for (int v = 0; v < VECTOR; ++v) sum[v % 2] += exponential(chunk.pack[i].at(v) - summary.maximum());
    }
    summary.word[1] += sum[0] + sum[1];
  }

  /// row: the summary of the whole row.
  __device__ explicit Softmax(const Summary& row) : maximum_(row.maximum()), factor_(1.0f / row.sum()) {}
  __device__ float one(float x, int) const { return exponential(x - maximum_) * factor_; }
  __device__ void fetch(Weights&, int) const {}
  __device__ void finish(float (&result)[VECTOR], const ElementPack& pack, const Weights&, int column) const {
#pragma unroll
    for (int v = 0; v < VECTOR; ++v) result[v] = one(pack.at(v), column);
  }

 private:
  float maximum_, factor_;
};

/// x, y: rows x columns. Grid, block and marks: see process_rows.
extern "C" __global__ void LAUNCH_BOUNDS(THREADS* ROWS, MIN_BLOCKS)
    softmax(const Element* x, Element* y, unsigned long long* marks, int rows, int columns) {
  process_rows<Softmax>(x, y, marks, rows, columns);
}
