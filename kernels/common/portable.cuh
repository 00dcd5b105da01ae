// Short names for what <xtune/portable.cuh> has.
#pragma once

#include <xtune/portable.cuh>

#define ON_NVIDIA XTUNE_ON_NVIDIA
#define ON_AMD XTUNE_ON_AMD
#define LAUNCH_BOUNDS(threads, blocks) XTUNE_LAUNCH_BOUNDS(threads, blocks)

using xtune::ceil_div;
using xtune::lane_count;
using xtune::shuffle_down;
using xtune::shuffle_xor;

__host__ __device__ constexpr int min_of(int a, int b) { return a < b ? a : b; }
__host__ __device__ constexpr int max_of(int a, int b) { return a > b ? a : b; }

/// NVRTC has no INFINITY.
__device__ inline float infinity() { return __int_as_float(0x7f800000); }

/// 2 to the power of x; 0 where that is less than any normal number.
__device__ inline float fast_exp2(float x) {
#if ON_NVIDIA
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
#else
  return exp2f(x);
#endif
}

/// The lower half of high:low, shifted right by `bits`, which are less than 32.
__device__ inline unsigned int funnel_right(unsigned int low, unsigned int high, int bits) {
#if ON_AMD
  return __builtin_amdgcn_alignbit(high, low, static_cast<unsigned int>(bits));
#else
  return __funnelshift_r(low, high, static_cast<unsigned int>(bits));
#endif
}
