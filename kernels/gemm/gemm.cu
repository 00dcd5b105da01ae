// C = A * B for row-major matrices of any size: f32 or f16 inputs, f32 accumulation and result.
//
// A block computes a BLOCK_M x BLOCK_N tile of C. Along K it moves tiles of A and B through a ring of STAGES buffers in
// shared memory. 32 consecutive threads form a 4 x 8 grid; each holds THREAD_M x THREAD_N results in registers, or,
// with TENSOR_CORES, the 32 hold (4 THREAD_M) x (8 THREAD_N) together. The parameters arrive as -D; README.md tells
// what each does.
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

/// A row-major matrix. `packed`: its rows can be read VECTOR elements at a time.
struct Matrix {
  const Input* data;
  int rows, columns;
  bool packed;
  __device__ const Input* at(int row, int column) const {
    return data + static_cast<long long>(row) * columns + column;
  }
};

/// This thread's share of copying a ROWS x COLUMNS tile of a matrix to shared memory; what lies outside the matrix
/// becomes 0.
template <int ROWS, int COLUMNS>
struct TileCopy {
  static constexpr int stride = COLUMNS + pad;
  static constexpr int packs_per_row = COLUMNS / VECTOR;
  static constexpr int packs = ROWS * packs_per_row;
  static constexpr int packs_per_thread = ceil_div(packs, thread_count);
  Pack<Input, VECTOR> staged[packs_per_thread];

  /// Calls visit(which of this thread's packs, row, column in the tile) for each pack.
  template <typename Visit>
  static __device__ void for_each_pack(Visit visit) {
    UNROLL
    for (int i = 0; i < packs_per_thread; ++i) {
      const int pack = i * thread_count + static_cast<int>(threadIdx.x);
      if (packs % thread_count == 0 || pack < packs) visit(i, pack / packs_per_row, pack % packs_per_row * VECTOR);
    }
  }

  __device__ void load(const Matrix& from, int first_row, int first_column) {
    for_each_pack([&](int i, int tile_row, int tile_column) {
      const int row = first_row + tile_row, column = first_column + tile_column;
      Pack<Input, VECTOR> pack = {};
      if (from.packed) {
        if (row < from.rows && column < from.columns) pack = load_pack<VECTOR>(from.at(row, column));
      } else {
        UNROLL
        for (int v = 0; v < VECTOR; ++v) {
          if (row < from.rows && column + v < from.columns) pack.x[v] = *from.at(row, column + v);
        }
      }
      staged[i] = pack;
    });
  }

  __device__ void store(Stored* tile) const {
    for_each_pack([&](int i, int row, int column) {
      Pack<Stored, VECTOR> pack;
      UNROLL
      for (int v = 0; v < VECTOR; ++v) pack.x[v] = to_stored(staged[i].x[v]);
      store_pack<VECTOR>(tile + row * stride + column, pack);
    });
  }

#if COPIES_ASYNC
  static __device__ void start(Stored* tile, const Matrix& from, int first_row, int first_column) {
    for_each_pack([&](int, int tile_row, int tile_column) {
      const int row = first_row + tile_row, column = first_column + tile_column;
      Stored* to = tile + tile_row * stride + tile_column;
      if (from.packed) {
        const bool inside = row < from.rows && column < from.columns;
        async_copy<VECTOR * sizeof(Input)>(to, inside ? from.at(row, column) : from.data, inside);
        return;
      }
      UNROLL
      for (int v = 0; v < VECTOR; ++v) {
        const bool inside = row < from.rows && column + v < from.columns;
        const Input* element = inside ? from.at(row, column + v) : from.data;
#if INPUT_F16
        to[v] = inside ? *element : Input(0.0f);  // too small for the hardware's copy
#else
        async_copy<sizeof(Input)>(to + v, element, inside);
#endif
      }
    });
  }
#endif
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
/// cover `raster` rows of tiles, so that they share what they read of B in L2; 0: row after row.
extern "C" __global__ void LAUNCH_BOUNDS(thread_count, MIN_BLOCKS)
    gemm(const Input* a_data, const Input* b_data, float* c, int m, int n, int k, int raster) {
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
  const Matrix a = {a_data, m, k, rows_take_packs<VECTOR>(a_data, k)};
  const Matrix b = {b_data, k, n, rows_take_packs<VECTOR>(b_data, n)};
  const int steps = ceil_div(k, BLOCK_K);
  const auto stage = [&](int step) { return tiles + step % STAGES * stage_elements; };

  const Place place;
  Results results;
#if COPIES_ASYNC
  const auto start = [&](int step) {
    if (step < steps) {
      TileCopy<BLOCK_M, BLOCK_K>::start(stage(step), a, first_row, step * BLOCK_K);
      TileCopy<BLOCK_K, BLOCK_N>::start(stage(step) + a_elements, b, step * BLOCK_K, first_column);
    }
    async_copy_commit();  // an empty group too: the waiting below counts groups
  };
  NO_UNROLL
  for (int step = 0; step < STAGES - 1; ++step) start(step);
  NO_UNROLL
  for (int step = 0; step < steps; ++step) {
    async_copy_wait<STAGES - 2>();
    __syncthreads();
    start(step + STAGES - 1);
    results.accumulate(stage(step), stage(step) + a_elements, place);
  }
#else
  TileCopy<BLOCK_M, BLOCK_K> a_copy;
  TileCopy<BLOCK_K, BLOCK_N> b_copy;
  const auto load = [&](int step) {
    a_copy.load(a, first_row, step * BLOCK_K);
    b_copy.load(b, step * BLOCK_K, first_column);
  };
  const auto store = [&](int step) {
    a_copy.store(stage(step));
    b_copy.store(stage(step) + a_elements);
  };
  // With several stages, the next tile is on its way to registers while this one is used. One barrier a step is enough:
  // a stage is overwritten only after the barrier that follows its last use.
  constexpr int ahead = STAGES - 1;
  NO_UNROLL
  for (int step = 0; step < min_of(ahead, steps); ++step) {
    load(step);
    store(step);
  }
  NO_UNROLL
  for (int step = 0; step < steps; ++step) {
    if constexpr (STAGES == 1) {
      load(step);
      __syncthreads();
      store(step);
    }
    __syncthreads();
    const bool more = STAGES > 1 && step + ahead < steps;
    if (more) load(step + ahead);
    results.accumulate(stage(step), stage(step) + a_elements, place);
    if (more) store(step + ahead);
  }
#endif
  results.store(c, m, n, first_row, first_column, place, shared);
}
