// y[i][j] = (x[i][j] - mean of row i) / sqrt(variance of row i + eps) * gamma[j] + beta[j] for a matrix of any size.
// The parameters are macros from -D; README.md describes each.
#include "../common/row_kernel.cuh"

/// Number and mean of elements, and the sum of the squares of their differences from the mean. Merged in pairs, these
/// give an accurate variance even where the mean is much larger than the deviation (Chan, Golub, LeVeque 1979).
struct LayernormSummary {
  float word[3];

  __device__ static LayernormSummary nothing() { return {{0.0f, 0.0f, 0.0f}}; }
  __device__ void merge(const LayernormSummary& other) {
    const float count = word[0] + other.word[0];
    const float share = count > 0.0f ? __fdividef(other.word[0], count) : 0.0f;
    const float difference = other.word[1] - word[1];
    word[1] += difference * share;
    word[2] += other.word[2] + difference * difference * word[0] * share;
    word[0] = count;
  }
  template <int WIDTH>
  __device__ void reduce() {
    const float count = lane_sum<WIDTH>(word[0]), sum = lane_sum<WIDTH>(word[0] * word[1]);
    const float mean = count > 0.0f ? __fdividef(sum, count) : 0.0f, difference = word[1] - mean;
    word[2] = lane_sum<WIDTH>(word[2] + difference * difference * word[0]);
    word[0] = count;
    word[1] = mean;
  }
};

class Layernorm {
 public:
  using Summary = LayernormSummary;
  struct Weights {
    AnyWords<VECTOR> gamma, beta;
  };

  __device__ static void add_one(Summary& summary, float x) { summary.merge({{1.0f, x, 0.0f}}); }
  __device__ static void add(Summary& summary, Chunk& chunk) {
    const float count = static_cast<float>(min_of(chunk.count, ITEMS) * VECTOR);
    float sum[2] = {}, squares[2] = {};
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) {
      if (i >= chunk.count) continue;
#pragma unroll
      for (int v = 0; v < VECTOR; ++v) sum[v % 2] += chunk.pack[i].at(v);
    }
    forget_values(chunk);
    const float mean = count > 0.0f ? __fdividef(sum[0] + sum[1], count) : 0.0f;
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) {
      if (i >= chunk.count) continue;
#pragma unroll
      for (int v = 0; v < VECTOR; ++v) {
        const float difference = chunk.pack[i].at(v) - mean;
        squares[v % 2] += difference * difference;
      }
    }
    summary.merge({{count, mean, squares[0] + squares[1]}});
  }

  /// row: the summary of the whole row, which has `columns` elements.
  __device__ Layernorm(const Summary& row, const Element* gamma, const Element* beta, int columns, float eps)
      : gamma_(gamma),
        beta_(beta),
        columns_(columns),
        mean_(row.word[1]),
        scale_(rsqrtf(row.word[2] / row.word[0] + eps)) {}
  __device__ float one(float x, int column) const {
    return (x - mean_) * scale_ * to_float(gamma_[column]) + to_float(beta_[column]);
  }
  __device__ void fetch(Weights& weights, int column) const {
    weights.gamma.fetch(gamma_, column);
    weights.beta.fetch(beta_, column);
  }
  __device__ void finish(float (&result)[VECTOR], const ElementPack& pack, const Weights& weights, int column) const {
    const ElementPack gamma = weights.gamma.cut(gamma_, column, columns_);
    const ElementPack beta = weights.beta.cut(beta_, column, columns_);
#pragma unroll
    for (int v = 0; v < VECTOR; ++v) {
      result[v] = (pack.at(v) - mean_) * scale_ * gamma.at(v) + beta.at(v);
    }
  }

 private:
  const Element* gamma_;
  const Element* beta_;
  int columns_;
  float mean_, scale_;
};

/// x, y: rows x columns; gamma, beta: columns. Grid, block and marks: see process_rows.
extern "C" __global__ void LAUNCH_BOUNDS(THREADS* ROWS, MIN_BLOCKS)
    layernorm(const Element* x, const Element* __restrict__ gamma, const Element* __restrict__ beta, Element* y,
              unsigned long long* marks, int rows, int columns, float eps) {
  process_rows<Layernorm>(x, y, marks, rows, columns, gamma, beta, columns, eps);
}
