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

/// NVRTC has no INFINITY.
__device__ inline float infinity() { return __int_as_float(0x7f800000); }
