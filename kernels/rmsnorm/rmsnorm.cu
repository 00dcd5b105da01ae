// y[i][j] = x[i][j] / sqrt(mean of the squares of row i + eps) * gamma[j] for a matrix of any size. The parameters are
// macros from -D; README.md describes each.
#include "../common/row_kernel.cuh"

/// The sum of squares.
struct RmsnormSummary {
  float word[1];

  __device__ static RmsnormSummary nothing() { return {{0.0f}}; }
  __device__ void merge(const RmsnormSummary& other) { word[0] += other.word[0]; }
  template <int WIDTH>
  __device__ void reduce() {
    word[0] = lane_sum<WIDTH>(word[0]);
  }
};

class Rmsnorm {
 public:
  using Summary = RmsnormSummary;
  struct Weights {
    AnyWords<VECTOR> gamma;
  };

  __device__ static void add_one(Summary& summary, float x) { summary.word[0] += x * x; }
  __device__ static void add(Summary& summary, const Chunk& chunk) {
    float squares[2] = {};
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) {
      if (i >= chunk.count) continue;
#pragma unroll
      for (int v = 0; v < VECTOR; ++v) {
        const float x = chunk.pack[i].at(v);
        squares[v % 2] += x * x;
      }
    }
    summary.word[0] += squares[0] + squares[1];
  }

  /// row: the summary of the whole row, which has `columns` elements.
  __device__ Rmsnorm(const Summary& row, const Element* gamma, int columns, float eps)
      : gamma_(gamma), columns_(columns), scale_(rsqrtf(row.word[0] / static_cast<float>(columns) + eps)) {}
  __device__ float one(float x, int column) const { return x * scale_ * to_float(gamma_[column]); }
  __device__ void fetch(Weights& weights, int column) const { weights.gamma.fetch(gamma_, column); }
  __device__ void finish(float (&result)[VECTOR], const ElementPack& pack, const Weights& weights, int column) const {
    const ElementPack gamma = weights.gamma.cut(gamma_, column, columns_);
#pragma unroll
    for (int v = 0; v < VECTOR; ++v) result[v] = pack.at(v) * scale_ * gamma.at(v);
  }

 private:
  const Element* gamma_;
  int columns_;
  float scale_;
};

/// x, y: rows x columns; gamma: columns. Grid, block and marks: see process_rows.
extern "C" __global__ void LAUNCH_BOUNDS(THREADS* ROWS, MIN_BLOCKS)
    rmsnorm(const Element* x, const Element* __restrict__ gamma, Element* y, unsigned long long* marks, int rows,
            int columns, float eps) {
  process_rows<Rmsnorm>(x, y, marks, rows, columns, gamma, columns, eps);
}
