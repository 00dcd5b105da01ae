// The sum of n f32 values, in one launch: each block sums its share, and the block that finishes last adds up the
// blocks' sums. The parameters are macros from -D; README.md describes each.
#include "../common/pack.cuh"

namespace finish {
enum Kind {
  atomic,    // blocks add to one accumulator, in any order
  partials,  // blocks leave their sums side by side; the last block adds them in a fixed order
};
}
constexpr finish::Kind finish_kind = finish::FINISH;

constexpr int warp_count = BLOCK / lane_count;
static_assert(BLOCK % lane_count == 0 && warp_count <= lane_count && (BLOCK & (BLOCK - 1)) == 0,
              "BLOCK is a power of two from 32 to 1024");

/// The sum of value over the block, in thread 0. scratch: BLOCK floats of shared memory, free again after the next
/// barrier.
__device__ inline float block_sum(float value, float* scratch) {
  const int thread = static_cast<int>(threadIdx.x);
  if constexpr (SHUFFLE) {
#pragma unroll
    for (int offset = lane_count / 2; offset > 0; offset /= 2) value += shuffle_down(value, offset);
    if (thread % lane_count == 0) scratch[thread / lane_count] = value;
    __syncthreads();
    if (thread < lane_count) {
      value = thread < warp_count ? scratch[thread] : 0.0f;
#pragma unroll
      for (int offset = lane_count / 2; offset > 0; offset /= 2) value += shuffle_down(value, offset);
    }
  } else {
    scratch[thread] = value;
#pragma unroll 1
    for (int half = BLOCK / 2; half > 0; half /= 2) {
      __syncthreads();
      if (thread < half) scratch[thread] += scratch[thread + half];
    }
    value = scratch[thread];
  }
  return value;
}

/// The sum of this thread's share of x: ITEMS packs at a time, so that as many reads are on their way at once.
__device__ inline float thread_sum(const float* x, long long n) {
  constexpr long long pass = static_cast<long long>(BLOCK) * ITEMS * VECTOR;
  const bool packed = rows_take_packs<VECTOR>(x, VECTOR);
  float sum[ITEMS] = {};
  for (long long base = blockIdx.x * pass; base < n; base += gridDim.x * pass) {
    const long long first = base + static_cast<long long>(threadIdx.x) * VECTOR;
    if (packed && base + pass <= n) {
      Pack<float, VECTOR> item[ITEMS];
#pragma unroll
      for (int i = 0; i < ITEMS; ++i) item[i] = load_pack<VECTOR>(x + first + i * BLOCK * VECTOR);
#pragma unroll
      for (int i = 0; i < ITEMS; ++i) {
#pragma unroll
        for (int v = 0; v < VECTOR; ++v) sum[i] += item[i].x[v];
      }
    } else {
#pragma unroll
      for (int i = 0; i < ITEMS; ++i) {
#pragma unroll
        for (int v = 0; v < VECTOR; ++v) {
          const long long index = first + i * BLOCK * VECTOR + v;
          if (index < n) sum[i] += x[index];
        }
      }
    }
  }
  float total = 0.0f;
#pragma unroll
  for (int i = 0; i < ITEMS; ++i) total += sum[i];
  return total;
}

/// Grid: one dimension, any size up to the length of partial_sums. Block: BLOCK. accumulator and ticket: one element
/// each, zero before the launch and again after it. What sum and partial_sums hold before does not matter.
extern "C" __global__ void LAUNCH_BOUNDS(BLOCK, 1)
    reduction(const float* x, float* sum, float* partial_sums, float* accumulator, unsigned int* ticket, long long n) {
  __shared__ float scratch[BLOCK];
  __shared__ bool is_last;

  const float mine = block_sum(thread_sum(x, n), scratch);
  if (threadIdx.x == 0) {
    if constexpr (finish_kind == finish::atomic) {
      atomicAdd(accumulator, mine);
    } else {
      partial_sums[blockIdx.x] = mine;
    }
    __threadfence();  // a block that sees the ticket also sees the sum
    is_last = atomicAdd(ticket, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (!is_last) return;
  __threadfence();

  float total = 0.0f;
  if constexpr (finish_kind == finish::partials) {
    const volatile float* written_by_others = partial_sums;
    for (unsigned int i = threadIdx.x; i < gridDim.x; i += BLOCK) total += written_by_others[i];
    total = block_sum(total, scratch);
  }
  if (threadIdx.x == 0) {
    if constexpr (finish_kind == finish::atomic) total = atomicExch(accumulator, 0.0f);
    *sum = total;
    *ticket = 0;
  }
}
