// The element type of A and B, chosen by the spec: f32, or with INPUT_F16 = 1 f16, or with INPUT_BF16 = 1 bf16.
#pragma once

#include "../common/portable.cuh"

#ifndef INPUT_F16
#define INPUT_F16 0
#endif
#ifndef INPUT_BF16
#define INPUT_BF16 0
#endif

#if INPUT_F16 && ON_NVIDIA
#include <cuda_fp16.h>
#endif

#if INPUT_F16
using Input = __half;
__device__ inline float to_float(Input value) { return __half2float(value); }
#elif INPUT_BF16
/// The upper half of an f32. The compilers' own types have three names and need a header with one of them.
struct Input {
  unsigned short bits;
};
__device__ inline float to_float(Input value) { return __uint_as_float(static_cast<unsigned>(value.bits) << 16); }
#else
using Input = float;
__device__ inline float to_float(Input value) { return value; }
#endif
