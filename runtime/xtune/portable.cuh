// For kernels: what CUDA C++, HIP C++ and xtune's host backend spell differently, so that one source serves all three.
// Every backend finds it as <xtune/portable.cuh>; docs/portable-kernels.md describes it.
#pragma once

#if defined(XTUNE_HOST)
#pragma GCC system_header
#endif

// HIP's NVIDIA side compiles with NVRTC or nvcc: there CUDA's spelling holds, whatever backend drives it.
#if defined(XTUNE_HOST)
#define XTUNE_ON_NVIDIA 0
#define XTUNE_ON_AMD 0
#elif defined(__CUDACC__)
#define XTUNE_ON_NVIDIA 1
#define XTUNE_ON_AMD 0
#else
#define XTUNE_ON_NVIDIA 0
#define XTUNE_ON_AMD 1
#endif

// Threads of a block, and blocks that should fit on one compute unit at a time. AMD counts the second in waves of a
// SIMD unit, of which a compute unit has four.
#if XTUNE_ON_AMD
#define XTUNE_LAUNCH_BOUNDS(threads, blocks) __launch_bounds__((threads), (((blocks) * (threads) + 255) / 256))
#else
#define XTUNE_LAUNCH_BOUNDS(threads, blocks) __launch_bounds__((threads), (blocks))
#endif

namespace xtune {

/// Neighbours in a one-dimensional block that the functions below combine: a warp, or half a wavefront of 64. All of
/// them have to call the function.
constexpr int lane_count = 32;

#if XTUNE_ON_AMD

/// The value of one of the 32 lanes; other numbers count modulo 32.
template <class T>
__device__ inline T shuffle(T value, int lane) {
  return __shfl(value, lane & (lane_count - 1), lane_count);
}
/// The value of the lane `offset` above.
template <class T>
__device__ inline T shuffle_down(T value, int offset) {
  return __shfl_down(value, static_cast<unsigned>(offset), lane_count);
}
/// The value of the lane `offset` below.
template <class T>
__device__ inline T shuffle_up(T value, int offset) {
  return __shfl_up(value, static_cast<unsigned>(offset), lane_count);
}
/// The value of the lane whose number differs in these bits.
template <class T>
__device__ inline T shuffle_xor(T value, int bits) {
  return __shfl_xor(value, bits & (lane_count - 1), lane_count);
}
/// A bit for each lane whose predicate is not 0.
__device__ inline unsigned ballot(int predicate) {
  // A wavefront of 64 holds two groups of lanes.
  return static_cast<unsigned>(__ballot(predicate) >> (__lane_id() & 32u));
}
/// Waits for the other lanes, and makes visible what they wrote to memory.
__device__ inline void sync_lanes() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront");
  __builtin_amdgcn_wave_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront");
}

#else

template <class T>
__device__ inline T shuffle(T value, int lane) {
  return __shfl_sync(0xffffffffu, value, lane, lane_count);
}
template <class T>
__device__ inline T shuffle_down(T value, int offset) {
  return __shfl_down_sync(0xffffffffu, value, static_cast<unsigned>(offset), lane_count);
}
template <class T>
__device__ inline T shuffle_up(T value, int offset) {
  return __shfl_up_sync(0xffffffffu, value, static_cast<unsigned>(offset), lane_count);
}
template <class T>
__device__ inline T shuffle_xor(T value, int bits) {
  return __shfl_xor_sync(0xffffffffu, value, bits, lane_count);
}
__device__ inline unsigned ballot(int predicate) { return __ballot_sync(0xffffffffu, predicate); }
__device__ inline void sync_lanes() { __syncwarp(); }

#endif

__host__ __device__ constexpr int ceil_div(int a, int b) { return (a + b - 1) / b; }

}  // namespace xtune
