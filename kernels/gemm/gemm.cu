// C = A * B for row-major matrices of any size: f32, f16, bf16 or f8e4m3 inputs, f32 accumulation and result.
//
// A block computes a BLOCK_M x BLOCK_N tile of C. Along K it moves tiles of A and B through a ring of STAGES buffers in
// shared memory, and reads them slice by slice into registers. 32 consecutive threads form a 4 x 8 grid; each holds
// THREAD_M x THREAD_N results, or, with TENSOR_CORES, the 32 hold (4 THREAD_M) x (8 THREAD_N) together. On matrix cores
// of CDNA, 64 threads hold (8 THREAD_M) x (8 THREAD_N). The parameters are macros from -D; README.md describes each.
#include "../common/async_copy.cuh"
#include "../common/group.cuh"
#include "../common/pack.cuh"
#include "input.cuh"

#ifndef INSTRUCTION
#define INSTRUCTION 8
#endif
#ifndef DIRECT
#define DIRECT 0
#endif
// Blocks can share the sums of a tile where the spec gives PARTS, and the memory for it.
#ifdef PARTS
#define ARGUMENTS_OF_PARTS , float *partials, unsigned int *counters
#else
#define ARGUMENTS_OF_PARTS
#define PARTS 1
#endif

// The vector units compute in f32: narrower inputs are widened once, on their way into shared memory.
#if TENSOR_CORES
#include <xtune/matrix.cuh>
using Stored = Input;
using Product = xtune::matrix::Product<Input, INSTRUCTION>;
__device__ inline Stored to_stored(Input value) { return value; }
#else
using Stored = float;
__device__ inline Stored to_stored(Input value) { return to_float(value); }
#endif
// Two stages go through registers even where the hardware copies by itself, so that both ways can be tuned against each
// other.
#define COPIES_ASYNC        \
  (HAS_ASYNC_COPY && STAGES > 2 && !(TENSOR_CORES && INSTRUCTION > 8) && \
   (TENSOR_CORES ? VECTOR > 1 : !(INPUT_F16 || INPUT_BF16 || INPUT_F8)))
// AMD's matrix cores want neighbours along K of B too, so that registers have to bring it. A can come without.
#if DIRECT && !(TENSOR_CORES && INSTRUCTION > 8 && STAGES > 1)
#error "DIRECT = 1 takes TENSOR_CORES = 1, INSTRUCTION = 16 or 32, and two stages or more"
#elif DIRECT && (!HAS_DIRECT_COPY || (INPUT_F8 && XTUNE_MATRIX_CDNA))
#error "DIRECT = 1 takes an AMD GPU of CDNA3, and f16, bf16 or f32 inputs"
#endif

#if TENSOR_CORES
constexpr int warp_lanes = xtune::matrix::lanes;
#else
constexpr int warp_lanes = lane_count;
#endif
constexpr int lanes_m = warp_lanes / 8, lanes_n = 8;
constexpr int warp_m = lanes_m * THREAD_M, warp_n = lanes_n * THREAD_N;
constexpr int warps_n = BLOCK_N / warp_n;
/// Threads that compute a whole tile of C; K_GROUPS such groups share the slices of the tiles along K.
constexpr int group_threads = (BLOCK_M / warp_m) * warps_n * warp_lanes;
constexpr int thread_count = group_threads * K_GROUPS;

#include "tile_copy.cuh"

// The vector units read A by columns, so there it lies transposed. 16 bytes at the end of each row shift the next one to
// other banks, and keep it aligned for the widest access. Rows of B need no shift. Tiles for matrix cores are swizzled,
// without unused bytes: rows of A, and rows of B or, for INSTRUCTION = 16 and 32, columns.
#if TENSOR_CORES
constexpr int a_stride = BLOCK_K, b_stride = INSTRUCTION > 8 ? BLOCK_K : BLOCK_N;
constexpr int a_elements = BLOCK_M * BLOCK_K, b_elements = BLOCK_K * BLOCK_N;
constexpr int a_width = DIRECT ? 4 / static_cast<int>(sizeof(Stored)) : VECTOR;
constexpr Layout a_layout = INSTRUCTION == 8 ? Layout::swizzled_within_rows
                            : DIRECT         ? Layout::direct_rows
                                             : Layout::swizzled_rows;
constexpr Layout b_layout = INSTRUCTION == 8 ? Layout::swizzled_within_rows : Layout::swizzled_columns;
#else
constexpr int pad = PAD * 16 / static_cast<int>(sizeof(Stored));
constexpr int a_stride = BLOCK_M + pad, b_stride = BLOCK_N;
constexpr int a_elements = BLOCK_K * a_stride, b_elements = BLOCK_K * b_stride;
// What the hardware copies arrives as it is: A can be transposed on its way only element by element, and the pairs of B
// stay as they are.
constexpr int a_width = COPIES_ASYNC ? 1 : VECTOR;
constexpr Layout a_layout = Layout::columns;
constexpr Layout b_layout = COPIES_ASYNC ? Layout::rows : Layout::swapped_rows;
#endif
constexpr int stage_elements = a_elements + b_elements;

static_assert(BLOCK_M % warp_m == 0 && BLOCK_N % warp_n == 0, "a block tile is made of whole warp tiles");

/// Where this thread's results lie in the block's tile: the first row and column of its warp, and its place in the lane
/// grid. Lanes 1 and 2 apart share a column or a row, so that the hardware merges their reads of shared memory.
struct Place {
  int row, column, lane, lane_m, lane_n;
  __device__ Place() {
    const int thread = static_cast<int>(threadIdx.x) % group_threads, warp = thread / warp_lanes;
    lane = thread % warp_lanes;
    row = warp / warps_n * warp_m;
    column = warp % warps_n * warp_n;
    lane_m = (lane >> 1 & 1) | (lane >> 4) << 1;
    lane_n = (lane & 1) | (lane >> 2 & 3) << 1;
  }
};

#if TENSOR_CORES
#include "matrix_units.cuh"
#else
#include "vector_units.cuh"
#endif

/// Slices of a tile that a group of threads computes.
constexpr int slices = BLOCK_K / (Arithmetic::slice * K_GROUPS);
static_assert(BLOCK_K % (Arithmetic::slice * K_GROUPS) == 0 && slices % K_UNROLL == 0 && K_UNROLL % FRAGMENTS == 0,
              "a K tile is made of whole unrolled slices for each group");

/// The tiles of A and B that a block brings to shared memory one after the other: one is current, others are on their
/// way. The first is the one that K may not fill, so that the others need no check along K. All threads of the block
/// call next() and refill() after each tile.
class Ring {
 public:
  /// From this row of A and column of B on, and along K from `begin` to `end`.
  __device__ Ring(const Input* a, const Input* b, int m, int n, int k, int row, int column, int begin, int end,
                  Stored* stages)
      : a_(a, k, row, begin),
        b_(b, n, begin, column),
        rows_(m - row),
        columns_(n - column),
        stages_(stages),
        left_(ceil_div(end - begin, BLOCK_K)) {
    const int first = end - begin - (left_ - 1) * BLOCK_K;
#if COPIES_ASYNC
    tile_ = stage_bytes;
    refill<false>(first);
#pragma unroll 1
    for (int i = 1; i < STAGES; ++i) {
      tile_ += stage_bytes;
      refill<false>(BLOCK_K);
    }
    tile_ = 0;
    async_copy_wait<STAGES - 1>();
#else
    if (DIRECT) tile_ = (STAGES - 1) * stage_bytes;
    refill<false>(first);
#if DIRECT
    direct_copy_wait();
    move_on();
#endif
    store();
    refill<false>(BLOCK_K);
#endif
    __syncthreads();
  }

  /// Whether all tiles but the first lie in the matrices, in whole packs. All threads get the same answer.
  __device__ bool whole() const { return a_.whole(rows_, BLOCK_K) && b_.whole(BLOCK_K, columns_); }

  __device__ const Stored* a() const { return stage_at(tile_); }
  __device__ const Stored* b() const { return a() + a_elements; }

  /// Makes the next tile current, once no thread needs the current one in shared memory any more.
  __device__ void next() {
#if COPIES_ASYNC
    async_copy_wait<STAGES - 2>();
    move_on();
#else
    if (STAGES == 1) __syncthreads();
#if DIRECT
    direct_copy_wait();
#endif
    move_on();
    store();
#endif
    __syncthreads();
  }

  /// Starts bringing another tile, of which K has `depth`, to where the tile before the current one was. After the last
  /// one it brings zeros, which are never used: a branch would separate the multiplications from the copies that they
  /// hide.
  template <bool WHOLE>
  __device__ void refill(int depth) {
    const int a_rows = left_ > 0 ? rows_ : 0, b_rows = left_ > 0 ? depth : 0;
#if COPIES_ASYNC
    Stored* const stage = stage_at((tile_ == 0 ? STAGES * stage_bytes : tile_) - stage_bytes);
    a_.start<WHOLE>(stage, a_rows, depth);
    b_.start<WHOLE>(stage + a_elements, b_rows, columns_);
    async_copy_commit();
#else
#if DIRECT
    a_.start_direct<WHOLE>(stage_at(next_tile()), a_rows, depth);
#else
    a_.load<WHOLE>(a_rows, depth);
#endif
    b_.load<WHOLE>(b_rows, columns_);
#endif
    a_.advance(0, depth);
    b_.advance(depth, 0);
    --left_;
  }

  /// Waits for what refill() has started. Then the shared memory is free for other things. The last direct copies have
  /// been waited for in next(), because they bring no zeros.
  __device__ void finish() {
#if COPIES_ASYNC
    async_copy_wait<0>();
#endif
    __syncthreads();
  }

 private:
  static constexpr int stage_bytes = stage_elements * static_cast<int>(sizeof(Stored));
  __device__ Stored* stage_at(int bytes) const {
    return reinterpret_cast<Stored*>(reinterpret_cast<char*>(stages_) + bytes);
  }
  __device__ int next_tile() const { return tile_ == (STAGES - 1) * stage_bytes ? 0 : tile_ + stage_bytes; }
  __device__ void move_on() { tile_ = next_tile(); }

#if !COPIES_ASYNC
  __device__ void store() const {
#if !DIRECT
    a_.store(stage_at(tile_));
#endif
    b_.store(stage_at(tile_) + a_elements);
  }
#endif

  TileCopy<BLOCK_M, BLOCK_K, thread_count, a_width, a_stride, a_layout> a_;
  TileCopy<BLOCK_K, BLOCK_N, thread_count, VECTOR, b_stride, b_layout> b_;
  int rows_, columns_;
  Stored* stages_;
  int left_, tile_ = 0;  // the current tile: how many bytes are before it
};

/// Multiplies all tiles. WHOLE: the ring's are whole.
template <bool WHOLE>
__device__ inline void multiply_tiles(Ring& ring, int steps, Arithmetic& arithmetic, const Place& place) {
  const int first_slice = static_cast<int>(threadIdx.x) / group_threads * slices;
  const auto load = [&](int buffer, int slice) {
    arithmetic.load(buffer, ring.a(), ring.b(), (first_slice + slice) * Arithmetic::slice, place);
  };
  // With two fragment buffers, a slice is on its way to registers while the one before it is multiplied.
  if (FRAGMENTS > 1) load(0, 0);
#pragma unroll 1
  for (int step = 0; step < steps; ++step) {
#pragma unroll 1
    for (int first = 0; first < slices; first += K_UNROLL) {
#pragma unroll
      for (int i = 0; i < K_UNROLL; ++i) {
        const bool tile_ends = i == K_UNROLL - 1 && first + K_UNROLL == slices;
        if (FRAGMENTS == 1) load(0, first + i);
        if (tile_ends) ring.next();
        if (FRAGMENTS > 1) load((i + 1) % FRAGMENTS, tile_ends ? 0 : first + i + 1);
        if (tile_ends) ring.refill<WHOLE>(BLOCK_K);
        arithmetic.multiply(i % FRAGMENTS);
      }
    }
  }
  ring.finish();
}

/// Adds what the groups of threads have summed up for the same results. The first group has the sums on return.
__device__ inline void add_groups(Arithmetic& arithmetic, float* shared) {
  const int group = static_cast<int>(threadIdx.x) / group_threads,
            thread = static_cast<int>(threadIdx.x) % group_threads;
#pragma unroll 1
  for (int other = 1; other < K_GROUPS; ++other) {
    if (other > 1) __syncthreads();
    if (group == other) {
#pragma unroll
      for (int i = 0; i < THREAD_M * THREAD_N; ++i) shared[i * group_threads + thread] = arithmetic.sum(i);
    }
    __syncthreads();
    if (group == 0) {
#pragma unroll
      for (int i = 0; i < THREAD_M * THREAD_N; ++i) arithmetic.sum(i) += shared[i * group_threads + thread];
    }
  }
}

/// Adds what the blocks of a tile have summed up, in the order of their parts. Whether this is the last of the blocks,
/// which has the sums then.
__device__ inline bool add_parts(Arithmetic& arithmetic, float* of_tile, unsigned int* counter, int part) {
  constexpr int results = THREAD_M * THREAD_N;
  const int thread = static_cast<int>(threadIdx.x);
  if (thread < group_threads) {
#pragma unroll
    for (int i = 0; i < results; ++i) of_tile[(part * results + i) * group_threads + thread] = arithmetic.sum(i);
  }
  if (!arrives_last(counter, PARTS)) return false;
  const volatile float* const of_parts = of_tile;
#pragma unroll 1
  for (int other = 0; thread < group_threads && other < PARTS; ++other) {
#pragma unroll
    for (int i = 0; i < results; ++i) {
      const float sum = of_parts[(other * results + i) * group_threads + thread];
      arithmetic.sum(i) = other == 0 ? sum : arithmetic.sum(i) + sum;
    }
  }
  return true;
}

/// Grid: one dimension, PARTS * ceil(M / BLOCK_M) * ceil(N / BLOCK_N). Block: thread_count. Dynamic shared memory:
/// STAGES buffers of stage_elements, and with K_GROUPS > 1 at least BLOCK_M * BLOCK_N floats. raster > 0: blocks that
/// run at the same time cover `raster` rows of tiles, so that they share the parts of B that they read in L2; 0: row
/// after row. With PARTS > 1, partials has room for PARTS tiles for each tile of C, and counters are zeros, one for each.
extern "C" __global__ void LAUNCH_BOUNDS(thread_count, MIN_BLOCKS)
    gemm(const Input* a, const Input* b, float* c, int m, int n, int k, int raster ARGUMENTS_OF_PARTS) {
  extern __shared__ float4 shared[];

  const int blocks_m = ceil_div(m, BLOCK_M), blocks_n = ceil_div(n, BLOCK_N);
  const int block = static_cast<int>(blockIdx.x) / PARTS, part = static_cast<int>(blockIdx.x) % PARTS;
  int block_m = block / blocks_n, block_n = block % blocks_n;
  if (raster > 0) {
    const int group = block / (raster * blocks_n), in_group = block % (raster * blocks_n);
    const int group_rows = min_of(raster, blocks_m - group * raster);
    block_m = group * raster + in_group % group_rows;
    block_n = in_group / group_rows;
  }
  const int first_row = block_m * BLOCK_M, first_column = block_n * BLOCK_N;
  // Of the steps along K, of which only the first may be short, each part has as many as the others, or one more.
  const int all_steps = ceil_div(k, BLOCK_K), first_step = part * all_steps / PARTS;
  const int steps = (part + 1) * all_steps / PARTS - first_step;
  const int end = k - (all_steps - first_step - steps) * BLOCK_K, begin = max_of(end - steps * BLOCK_K, 0);

  const Place place;
  Arithmetic arithmetic;
  Ring ring(a, b, m, n, k, first_row, first_column, begin, end, reinterpret_cast<Stored*>(shared));
  if (ring.whole()) {
    multiply_tiles<true>(ring, steps, arithmetic, place);
  } else {
    multiply_tiles<false>(ring, steps, arithmetic, place);
  }
  if (K_GROUPS > 1) add_groups(arithmetic, reinterpret_cast<float*>(shared));
#if PARTS > 1
  float* const of_tile = partials + static_cast<long long>(block) * (PARTS * BLOCK_M * BLOCK_N);
  if (!add_parts(arithmetic, of_tile, counters + block, part)) return;
#endif
  if (static_cast<int>(threadIdx.x) < group_threads) arithmetic.store(c, m, n, first_row, first_column, place);
}
