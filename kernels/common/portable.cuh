// What CUDA C++, HIP C++ and the host backend spell differently, so that a kernel is written once for the three.
#pragma once

// HIP's NVIDIA side compiles with NVRTC or nvcc too: CUDA's spelling is then used with any backend.
#if defined(XTUNE_HOST)
#define ON_NVIDIA 0
#define ON_AMD 0
#elif defined(__CUDACC__)
#define ON_NVIDIA 1
#define ON_AMD 0
#else
#define ON_NVIDIA 0
#define ON_AMD 1
#endif

// Threads of a block, and blocks that should fit on one compute unit at a time. AMD counts the second in waves of a
// SIMD unit, of which a compute unit has four.
#if ON_AMD
#define LAUNCH_BOUNDS(threads, blocks) __launch_bounds__((threads), (((blocks) * (threads) + 255) / 256))
#else
#define LAUNCH_BOUNDS(threads, blocks) __launch_bounds__((threads), (blocks))
#endif

/// Neighbours in a one-dimensional block that shuffle with each other: a warp, or half a wavefront of 64.
constexpr int lane_count = 32;

/// The value of the lane `offset` above within the same 32 lanes, all of which take part.
__device__ inline float shuffle_down(float value, int offset) {
#if ON_AMD
  return __shfl_down(value, static_cast<unsigned>(offset), lane_count);
#else
  return __shfl_down_sync(0xffffffffu, value, static_cast<unsigned>(offset), lane_count);
#endif
}

__host__ __device__ constexpr int ceil_div(int a, int b) { return (a + b - 1) / b; }
__host__ __device__ constexpr int min_of(int a, int b) { return a < b ? a : b; }
