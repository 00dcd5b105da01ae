// Element, the type that the macro ELEMENT names (f32, f16 or bf16), and its conversions; arithmetic is in f32.
#pragma once

#include "portable.cuh"

#if !ON_AMD  // hipRTC has __half without a header
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#endif

namespace element {
using f32 = float;
using f16 = __half;
#if ON_AMD
/// The upper half of a float; hipRTC 5.2 has no type for it.
struct bf16 {
  unsigned short bits;
};
#else
using bf16 = __nv_bfloat16;
#endif
}  // namespace element

using Element = element::ELEMENT;

__device__ inline float to_float(float value) { return value; }
__device__ inline float to_float(element::f16 value) { return __half2float(value); }
__device__ inline void set(float& to, float value) { to = value; }
__device__ inline void set(element::f16& to, float value) { to = __float2half(value); }
#if ON_AMD
__device__ inline float to_float(element::bf16 value) {
  return __uint_as_float(static_cast<unsigned int>(value.bits) << 16);
}
/// To the nearest, ties to even; NaN stays NaN.
__device__ inline void set(element::bf16& to, float value) {
  const unsigned int bits = __float_as_uint(value);
  const unsigned int rounded = value != value ? bits | 0x400000u : bits + 0x7fffu + (bits >> 16 & 1u);
  to.bits = static_cast<unsigned short>(rounded >> 16);
}
#else
__device__ inline float to_float(element::bf16 value) { return __bfloat162float(value); }
__device__ inline void set(element::bf16& to, float value) { to = __float2bfloat16(value); }
#endif

// Two at once, where an instruction does that.
template <typename T>
__device__ inline void set_pair(T& first, T& second, float a, float b) {
  set(first, a);
  set(second, b);
}
#if ON_NVIDIA
__device__ inline void set_pair(element::f16& first, element::f16& second, float a, float b) {
  const __half2 both = __floats2half2_rn(a, b);
  first = __low2half(both);
  second = __high2half(both);
}
__device__ inline void set_pair(element::bf16& first, element::bf16& second, float a, float b) {
  const __nv_bfloat162 both = __floats2bfloat162_rn(a, b);
  first = __low2bfloat16(both);
  second = __high2bfloat16(both);
}
#endif
