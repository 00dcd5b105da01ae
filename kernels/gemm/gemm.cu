// C = A * B for row-major matrices of any size: f32 or f16 inputs, f32 accumulation and result.
//
// A block computes a BLOCK_M x BLOCK_N tile of C. Along K it moves tiles of A and B through a ring of STAGES buffers in
// shared memory. 32 consecutive threads form a 4 x 8 grid; each holds THREAD_M x THREAD_N results in registers, or,
// with TENSOR_CORES, the 32 hold (4 THREAD_M) x (8 THREAD_N) together. The parameters are macros from -D; README.md
// describes each.
#include "../common/async_copy.cuh"
#include "../common/pack.cuh"

#if INPUT_F16 && ON_NVIDIA
#include <cuda_fp16.h>
#endif
#if TENSOR_CORES
#if !ON_NVIDIA || !INPUT_F16
#error "TENSOR_CORES = 1 takes f16 inputs and an NVIDIA GPU"
#endif
#include <mma.h>
#endif

#if INPUT_F16
using Input = __half;
#else
using Input = float;
#endif
// The vector units compute in f32: f16 inputs are widened once, on their way into shared memory.
#if TENSOR_CORES || !INPUT_F16
using Stored = Input;
__device__ inline Stored to_stored(Input value) { return value; }
#else
using Stored = float;
__device__ inline Stored to_stored(Input value) { return __half2float(value); }
#endif
// Two stages go through registers even where the hardware copies by itself, so that both ways can be tuned against each
// other.
#define COPIES_ASYNC (HAS_ASYNC_COPY && STAGES > 2 && (!INPUT_F16 || (TENSOR_CORES && VECTOR > 1)))

constexpr int lanes_m = 4, lanes_n = 8;
constexpr int warp_m = lanes_m * THREAD_M, warp_n = lanes_n * THREAD_N;
constexpr int warps_n = BLOCK_N / warp_n;
constexpr int thread_count = (BLOCK_M / warp_m) * warps_n * lane_count;
// 16 bytes at the end of each shared row shift the next row to other banks, and keep it aligned for the widest access.
constexpr int pad = PAD * 16 / static_cast<int>(sizeof(Stored));
constexpr int a_stride = BLOCK_K + pad, b_stride = BLOCK_N + pad;
constexpr int a_elements = BLOCK_M * a_stride, b_elements = BLOCK_K * b_stride;
constexpr int stage_elements = a_elements + b_elements;

static_assert(BLOCK_M % warp_m == 0 && BLOCK_N % warp_n == 0, "a block tile is made of whole warp tiles");
static_assert(BLOCK_K % VECTOR == 0 && BLOCK_N % VECTOR == 0, "a tile row is made of whole vectors");
static_assert(BLOCK_K % 4 == 0 && BLOCK_K % K_UNROLL == 0, "a K tile is made of whole unrolled steps");

/// This thread's share of copying ROWS x COLUMNS tiles of a row-major matrix to shared memory, one tile after the
/// other; what lies outside the matrix becomes 0. Between two of a thread's packs lies a fixed distance, so that one
/// pointer and two limits are all it keeps in registers.
template <int ROWS, int COLUMNS>
class TileCopy {
 public:
  static constexpr int stride = COLUMNS + pad;

  /// The first tile starts at (row, column).
  __device__ TileCopy(const Input* matrix, int rows, int columns, int row, int column)
      : columns_(columns), packed_(rows_take_packs<VECTOR>(matrix, columns)) {
    const int thread = static_cast<int>(threadIdx.x);
    tile_row_ = thread / across;
    tile_column_ = thread % across * VECTOR;
    next_ = matrix + static_cast<long long>(row + tile_row_) * columns + column + tile_column_;
    rows_left_ = rows - row - tile_row_;
    columns_left_ = columns - column - tile_column_;
  }

  /// Moves on to the next tile to copy, by this many rows and columns.
  __device__ void advance(int rows, int columns) {
    next_ += static_cast<long long>(rows) * columns_ + columns;
    rows_left_ -= rows;
    columns_left_ -= columns;
  }

  /// Starts reading the tile into registers; store() writes it to shared memory.
  __device__ void load() {
    for_each_pack([&](int i, int row, int column, const Input* from) {
      const int left = row < rows_left_ ? columns_left_ - column : 0;
      Pack<Input, VECTOR> pack = {};
      if (packed_) {
        if (left > 0) pack = load_pack<VECTOR>(from);
      } else {
#pragma unroll
        for (int v = 0; v < VECTOR; ++v) {
          if (v < left) pack.x[v] = from[v];
        }
      }
      staged_[i] = pack;
    });
  }

  __device__ void store(Stored* tile) const {
    for_each_pack([&](int i, int row, int column, const Input*) {
      Pack<Stored, VECTOR> pack;
#pragma unroll
      for (int v = 0; v < VECTOR; ++v) pack.x[v] = to_stored(staged_[i].x[v]);
      store_pack<VECTOR>(place(tile, row, column), pack);
    });
  }

#if COPIES_ASYNC
  /// Starts copying the tile without registers. Elements that the hardware's copy can't take are there on return.
  __device__ void start(Stored* tile) const {
    for_each_pack([&](int, int row, int column, const Input* from) {
      const int left = row < rows_left_ ? columns_left_ - column : 0;
      Stored* const to = place(tile, row, column);
      if (packed_) {
        async_copy<VECTOR * sizeof(Input)>(to, from, left > 0);
      } else {
#pragma unroll
        for (int v = 0; v < VECTOR; ++v) {
#if INPUT_F16
          to[v] = v < left ? from[v] : Input(0.0f);
#else
          async_copy<sizeof(Input)>(to + v, from + v, v < left);
#endif
        }
      }
    });
  }
#endif

 private:
  static constexpr int packs_per_row = COLUMNS / VECTOR;
  static constexpr int across = min_of(packs_per_row, thread_count), down = thread_count / across;
  static constexpr int passes_across = packs_per_row / across, passes_down = ROWS / down;
  static_assert(packs_per_row % across == 0 && thread_count % across == 0 && ROWS % down == 0,
                "every thread copies the same number of packs");

  /// Calls visit(which, rows and columns from the thread's first pack, address in the matrix) for each of its packs.
  template <typename Visit>
  __device__ void for_each_pack(Visit visit) const {
    const Input* from = next_;
    const long long row_step = static_cast<long long>(down) * columns_;
#pragma unroll
    for (int i = 0; i < passes_down; ++i) {
#pragma unroll
      for (int j = 0; j < passes_across; ++j) {
        visit(i * passes_across + j, i * down, j * across * VECTOR, from + j * across * VECTOR);
      }
      from += row_step;
    }
  }

  __device__ Stored* place(Stored* tile, int row, int column) const {
    return tile + (tile_row_ + row) * stride + tile_column_ + column;
  }

  Pack<Input, VECTOR> staged_[passes_down * passes_across];
  const Input* next_;
  int columns_, rows_left_, columns_left_, tile_row_, tile_column_;
  bool packed_;
};

/// Where this thread's results lie in the block's tile: the first row and column of its warp, and its place in the lane
/// grid. Lanes 1 and 2 apart share a column or a row, so that the hardware merges their reads of shared memory.
struct Place {
  int row, column, lane_m, lane_n;
  __device__ Place() {
    const int thread = static_cast<int>(threadIdx.x), lane = thread % lane_count, warp = thread / lane_count;
    row = warp / warps_n * warp_m;
    column = warp % warps_n * warp_n;
    lane_m = (lane >> 1 & 1) | (lane >> 4) << 1;
    lane_n = (lane & 1) | (lane >> 2 & 3) << 1;
  }
};

#if TENSOR_CORES
#include "tensor_cores.cuh"
#else
#include "vector_units.cuh"
#endif

/// Grid: one dimension, ceil(M / BLOCK_M) * ceil(N / BLOCK_N). Block: thread_count. Dynamic shared memory: STAGES
/// buffers of stage_elements, and with tensor cores at least 1 KiB a warp. raster > 0: blocks that run at the same time
/// cover `raster` rows of tiles, so that they share the parts of B that they read in L2; 0: row after row.
extern "C" __global__ void LAUNCH_BOUNDS(thread_count, MIN_BLOCKS)
    gemm(const Input* a, const Input* b, float* c, int m, int n, int k, int raster) {
  extern __shared__ float4 shared[];
  Stored* const tiles = reinterpret_cast<Stored*>(shared);

  const int blocks_m = ceil_div(m, BLOCK_M), blocks_n = ceil_div(n, BLOCK_N);
  const int block = static_cast<int>(blockIdx.x);
  int block_m = block / blocks_n, block_n = block % blocks_n;
  if (raster > 0) {
    const int group = block / (raster * blocks_n), in_group = block % (raster * blocks_n);
    const int group_rows = min_of(raster, blocks_m - group * raster);
    block_m = group * raster + in_group % group_rows;
    block_n = in_group / group_rows;
  }
  const int first_row = block_m * BLOCK_M, first_column = block_n * BLOCK_N;
  const int steps = ceil_div(k, BLOCK_K);
  TileCopy<BLOCK_M, BLOCK_K> a_copy(a, m, k, first_row, 0);
  TileCopy<BLOCK_K, BLOCK_N> b_copy(b, k, n, 0, first_column);
  const auto stage = [&](int step) { return tiles + step % STAGES * stage_elements; };
  const auto advance = [&] {
    a_copy.advance(0, BLOCK_K);
    b_copy.advance(BLOCK_K, 0);
  };

  const Place place;
  Results results;
#if COPIES_ASYNC
  const auto start = [&](int step) {
    if (step < steps) {
      a_copy.start(stage(step));
      b_copy.start(stage(step) + a_elements);
      advance();
    }
    async_copy_commit();  // an empty group too: the waiting below counts groups
  };
#pragma unroll 1
  for (int step = 0; step < STAGES - 1; ++step) start(step);
#pragma unroll 1
  for (int step = 0; step < steps; ++step) {
    async_copy_wait<STAGES - 2>();
    __syncthreads();
    start(step + STAGES - 1);
    results.accumulate(stage(step), stage(step) + a_elements, place);
  }
#else
  const auto load = [&] {
    a_copy.load();
    b_copy.load();
    advance();
  };
  const auto store = [&](int step) {
    a_copy.store(stage(step));
    b_copy.store(stage(step) + a_elements);
  };
  // With several stages, the next tile is on its way to registers while this one is used. One barrier a step is enough:
  // a stage is overwritten only after the barrier that follows its last use.
  constexpr int ahead = STAGES - 1;
#pragma unroll 1
  for (int step = 0; step < min_of(ahead, steps); ++step) {
    load();
    store(step);
  }
#pragma unroll 1
  for (int step = 0; step < steps; ++step) {
    if constexpr (STAGES == 1) {
      load();
      __syncthreads();
      store(step);
    }
    __syncthreads();
    const bool more = STAGES > 1 && step + ahead < steps;
    if (more) load();
    results.accumulate(stage(step), stage(step) + a_elements, place);
    if (more) store(step + ahead);
  }
#endif
  results.store(c, m, n, first_row, first_column, place, shared);
}
