// For AMD GPUs: CUDA's __nv_bfloat16, with the arithmetic of float, rounded to nearest even after each operation.
#pragma once
#include <xtune/narrow.cuh>

struct __nv_bfloat16 {
  unsigned short bits;

  __nv_bfloat16() = default;
  __device__ __nv_bfloat16(float x) : bits(xtune::bf16(x).bits) {}
  __device__ __nv_bfloat16(double x) : __nv_bfloat16(static_cast<float>(x)) {}
  __device__ __nv_bfloat16(int x) : __nv_bfloat16(static_cast<float>(x)) {}
  __device__ __nv_bfloat16(unsigned x) : __nv_bfloat16(static_cast<float>(x)) {}
  __device__ operator float() const { return __uint_as_float(static_cast<unsigned>(bits) << 16); }
};
struct __align__(4) __nv_bfloat162 {
  __nv_bfloat16 x, y;
};
typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;

__device__ inline __nv_bfloat16 __float2bfloat16(float x) { return x; }
__device__ inline __nv_bfloat16 __float2bfloat16_rn(float x) { return x; }
__device__ inline float __bfloat162float(__nv_bfloat16 x) { return x; }
__device__ inline unsigned short __bfloat16_as_ushort(__nv_bfloat16 x) { return x.bits; }
__device__ inline __nv_bfloat16 __ushort_as_bfloat16(unsigned short bits) {
  __nv_bfloat16 x;
  x.bits = bits;
  return x;
}
__device__ inline __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) { return {x, y}; }
__device__ inline __nv_bfloat162 make_bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) { return {x, y}; }
__device__ inline __nv_bfloat162 __bfloat162bfloat162(__nv_bfloat16 x) { return {x, x}; }
__device__ inline __nv_bfloat162 __float2bfloat162_rn(float x) { return {x, x}; }
__device__ inline __nv_bfloat162 __floats2bfloat162_rn(float x, float y) { return {x, y}; }
__device__ inline __nv_bfloat162 __float22bfloat162_rn(float2 x) { return {x.x, x.y}; }
__device__ inline float2 __bfloat1622float2(__nv_bfloat162 x) { return make_float2(x.x, x.y); }
__device__ inline float __low2float(__nv_bfloat162 x) { return x.x; }
__device__ inline float __high2float(__nv_bfloat162 x) { return x.y; }
__device__ inline __nv_bfloat16 __low2bfloat16(__nv_bfloat162 x) { return x.x; }
__device__ inline __nv_bfloat16 __high2bfloat16(__nv_bfloat162 x) { return x.y; }

#define XTUNE_BF16_OPERATION(op, name)                                                                      \
  __device__ inline __nv_bfloat16 operator op(__nv_bfloat16 a, __nv_bfloat16 b) {                           \
    return static_cast<float>(a) op static_cast<float>(b);                                                  \
  }                                                                                                         \
  __device__ inline __nv_bfloat16& operator op##=(__nv_bfloat16& a, __nv_bfloat16 b) { return a = a op b; } \
  __device__ inline __nv_bfloat16 __h##name(__nv_bfloat16 a, __nv_bfloat16 b) { return a op b; }            \
  __device__ inline __nv_bfloat162 operator op(__nv_bfloat162 a, __nv_bfloat162 b) {                        \
    return {a.x op b.x, a.y op b.y};                                                                        \
  }                                                                                                         \
  __device__ inline __nv_bfloat162 __h##name##2(__nv_bfloat162 a, __nv_bfloat162 b) { return a op b; }
XTUNE_BF16_OPERATION(+, add)
XTUNE_BF16_OPERATION(-, sub)
XTUNE_BF16_OPERATION(*, mul)
XTUNE_BF16_OPERATION(/, div)
#undef XTUNE_BF16_OPERATION

__device__ inline __nv_bfloat16 operator-(__nv_bfloat16 x) {
  return __ushort_as_bfloat16(static_cast<unsigned short>(x.bits ^ 0x8000u));
}
__device__ inline __nv_bfloat16 __hneg(__nv_bfloat16 x) { return -x; }
__device__ inline __nv_bfloat16 __habs(__nv_bfloat16 x) {
  return __ushort_as_bfloat16(static_cast<unsigned short>(x.bits & 0x7fffu));
}
__device__ inline __nv_bfloat16 __hfma(__nv_bfloat16 a, __nv_bfloat16 b, __nv_bfloat16 c) {
  return fmaf(static_cast<float>(a), static_cast<float>(b), static_cast<float>(c));
}
__device__ inline __nv_bfloat162 __hfma2(__nv_bfloat162 a, __nv_bfloat162 b, __nv_bfloat162 c) {
  return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)};
}
__device__ inline bool __hisnan(__nv_bfloat16 x) { return (x.bits & 0x7fffu) > 0x7f80u; }
// CUDA's names say what becomes of NaN: __hne is false, and __hneu is true, as != is.
#define XTUNE_BF16_COMPARISON(op, name)                                  \
  __device__ inline bool operator op(__nv_bfloat16 a, __nv_bfloat16 b) { \
    return static_cast<float>(a) op static_cast<float>(b);               \
  }                                                                      \
  __device__ inline bool __h##name(__nv_bfloat16 a, __nv_bfloat16 b) {   \
    return !__hisnan(a) && !__hisnan(b) && a op b;                       \
  }                                                                      \
  __device__ inline bool __h##name##u(__nv_bfloat16 a, __nv_bfloat16 b) { return __hisnan(a) || __hisnan(b) || a op b; }
XTUNE_BF16_COMPARISON(==, eq)
XTUNE_BF16_COMPARISON(!=, ne)
XTUNE_BF16_COMPARISON(<, lt)
XTUNE_BF16_COMPARISON(<=, le)
XTUNE_BF16_COMPARISON(>, gt)
XTUNE_BF16_COMPARISON(>=, ge)
#undef XTUNE_BF16_COMPARISON

/// For CUDA -0 is less than +0, and a NaN gives way to a number.
__device__ inline __nv_bfloat16 __hmin(__nv_bfloat16 a, __nv_bfloat16 b) {
  if (__hisnan(a) && __hisnan(b)) return __ushort_as_bfloat16(0x7fff);
  return __hisnan(b) || a < b || (a == b && a.bits > b.bits) ? a : b;
}
__device__ inline __nv_bfloat16 __hmax(__nv_bfloat16 a, __nv_bfloat16 b) {
  return __hisnan(a) || __hisnan(b) ? __hmin(a, b) : -__hmin(-a, -b);
}

__device__ inline __nv_bfloat16 atomicAdd(__nv_bfloat16* place, __nv_bfloat16 value) {
  return xtune_hip::add_short(place, value);
}
__device__ inline __nv_bfloat162 atomicAdd(__nv_bfloat162* place, __nv_bfloat162 value) {
  return xtune_hip::add_pair(place, value);
}
