// y[i][j] = exp(x[i][j]) / sum over k of exp(x[i][k]), without overflow, for the rows of a matrix of any size. The
// parameters are macros from -D; README.md describes each.
#include "../common/row_kernel.cuh"

/// The maximum of elements, and the sum of exp(x - maximum).
struct SoftmaxSummary {
  float word[2];

  // The least float, not -infinity, whose difference to itself is not a number.
  __device__ static SoftmaxSummary nothing() { return {{-3.402823466e+38f, 0.0f}}; }
  __device__ float maximum() const { return word[0]; }
  __device__ float sum() const { return word[1]; }
  __device__ void raise(float maximum) {
    if (maximum <= word[0]) return;
    word[1] *= __expf(word[0] - maximum);
    word[0] = maximum;
  }
  __device__ void merge(const SoftmaxSummary& other) {
    const float maximum = fmaxf(word[0], other.word[0]);
    word[1] = word[1] * __expf(word[0] - maximum) + other.word[1] * __expf(other.word[0] - maximum);
    word[0] = maximum;
  }
};

class Softmax {
 public:
  using Summary = SoftmaxSummary;
  __device__ static float absent() { return -infinity(); }

  __device__ static void add_one(Summary& summary, float x) {
    summary.raise(x);
    summary.word[1] += __expf(x - summary.maximum());
  }
  /// Leaves exp(x - maximum so far) in the chunk.
  __device__ static void add(Summary& summary, Chunk& chunk) {
    float maximum = absent();
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) {
#pragma unroll
      for (int v = 0; v < VECTOR; ++v) maximum = fmaxf(maximum, chunk.x[i][v]);
    }
    summary.raise(maximum);
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) {
#pragma unroll
      for (int v = 0; v < VECTOR; ++v) {
        chunk.x[i][v] = __expf(chunk.x[i][v] - summary.maximum());
        summary.word[1] += chunk.x[i][v];
      }
    }
  }

  /// own: the thread's summary, to which the chunk's exponentials belong; row: that of the whole row.
  __device__ Softmax(const Summary& own, const Summary& row)
      : maximum_(row.maximum()), factor_(1.0f / row.sum()), kept_factor_(__expf(own.maximum() - maximum_) * factor_) {}
  __device__ float one(float x, int) const { return __expf(x - maximum_) * factor_; }
  __device__ void kept(float (&x)[VECTOR], int) const {
#pragma unroll
    for (int v = 0; v < VECTOR; ++v) x[v] *= kept_factor_;
  }
  __device__ void again(float (&x)[VECTOR], int column) const {
#pragma unroll
    for (int v = 0; v < VECTOR; ++v) x[v] = one(x[v], column);
  }

 private:
  float maximum_, factor_, kept_factor_;
};

/// x, y: rows x columns. Grid, block, slots and ticket: see process_rows.
extern "C" __global__ void LAUNCH_BOUNDS(THREADS* ROWS, 1)
    softmax(const Element* x, Element* y, unsigned long long* slots, unsigned int* ticket, int rows, int columns) {
  process_rows<Softmax>(x, y, slots, ticket, rows, columns);
}
