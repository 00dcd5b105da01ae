// __half and __nv_bfloat16: storage of 16 bits, arithmetic in float, rounded to nearest even.
// Sources: IEEE 754-2019 binary16; bfloat16 is the upper half of a binary32.
#pragma once
#pragma GCC system_header

#include "xtune_host_atomics.h"
#include "xtune_host_math.h"

XTUNE_DEVICE float xtune_half_to_float(unsigned short h) {
#if defined(__F16C__) && __clang_major__ >= 22  // which has no builtin for it
  return static_cast<float>(__builtin_bit_cast(_Float16, h));
#elif defined(__F16C__)
  typedef short Short8 __attribute__((vector_size(16)));
  return __builtin_ia32_vcvtph2ps(Short8{static_cast<short>(h)})[0];
#else
  const unsigned sign = (h & 0x8000u) << 16, exponent = h >> 10 & 31u, mantissa = h & 0x3ffu;
  if (exponent == 31) return xtune_bits<float>(sign | 0x7f800000u | mantissa << 13 | (mantissa ? 0x400000u : 0u));
  if (exponent) return xtune_bits<float>(sign | (exponent + 112) << 23 | mantissa << 13);
  const float magnitude = static_cast<float>(mantissa) * 5.9604644775390625e-8f;
  return sign ? -magnitude : magnitude;
#endif
}

XTUNE_DEVICE unsigned short xtune_float_to_half(float f) {
#ifdef __F16C__
  typedef float Float4 __attribute__((vector_size(16)));
  return static_cast<unsigned short>(__builtin_ia32_vcvtps2ph(Float4{f}, 0)[0]);
#else
  const unsigned bits = xtune_bits<unsigned>(f), sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<unsigned short>(sign | 0x7e00u | (magnitude >> 13 & 0x3ffu));
  if (magnitude >= 0x477ff000u)
    return static_cast<unsigned short>(sign | 0x7c00u);  // 65520 and above round to infinity
  if (magnitude < 0x38800000u) {  // below 2^-14: adding 0.5 rounds at the last bit of a subnormal
    const float shifted = xtune_bits<float>(magnitude) + 0.5f;
    return static_cast<unsigned short>(sign | (xtune_bits<unsigned>(shifted) - 0x3f000000u));
  }
  return static_cast<unsigned short>(sign | (magnitude - 0x38000000u + 0xfffu + (magnitude >> 13 & 1u)) >> 13);
#endif
}

XTUNE_DEVICE float xtune_bfloat16_to_float(unsigned short b) {
  return xtune_bits<float>(static_cast<unsigned>(b) << 16);
}
XTUNE_DEVICE unsigned short xtune_float_to_bfloat16(float f) {
  const unsigned bits = xtune_bits<unsigned>(f);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7fff;
  return static_cast<unsigned short>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

/// A float that rounds to the same shorter float as the value: the last bit is odd if the value is between two floats.
/// Plain conversion would round twice.
XTUNE_DEVICE float xtune_float_by_odd(double value) {
  const float nearest = static_cast<float>(value);
  const double back = nearest;
  if (back == value || value != value || back - back != 0) return nearest;
  const bool toward_zero = (back < 0 ? -back : back) < (value < 0 ? -value : value);
  unsigned odd = xtune_bits<unsigned>(nearest);
  if (!(odd & 1u)) odd = toward_zero ? odd + 1 : odd - 1;
  return xtune_bits<float>(odd);
}

#define XTUNE_SHORT_FLOAT __half
#define XTUNE_SHORT_FLOAT2 __half2
#define XTUNE_SHORT_RAW __half_raw
#define XTUNE_SHORT_RAW2 __half2_raw
#define XTUNE_SHORT_TO_FLOAT xtune_half_to_float
#define XTUNE_FLOAT_TO_SHORT xtune_float_to_half
#include "xtune_host_short_float.h"
#define XTUNE_SHORT_FLOAT __nv_bfloat16
#define XTUNE_SHORT_FLOAT2 __nv_bfloat162
#define XTUNE_SHORT_RAW __nv_bfloat16_raw
#define XTUNE_SHORT_RAW2 __nv_bfloat162_raw
#define XTUNE_SHORT_TO_FLOAT xtune_bfloat16_to_float
#define XTUNE_FLOAT_TO_SHORT xtune_float_to_bfloat16
#include "xtune_host_short_float.h"

XTUNE_ELEMENT(__half, 'h')
XTUNE_ELEMENT(__nv_bfloat16, 'B')
using half = __half;
using half2 = __half2;
using nv_bfloat16 = __nv_bfloat16;
using nv_bfloat162 = __nv_bfloat162;
using hip_bfloat16 = __nv_bfloat16;
using __hip_bfloat16 = __nv_bfloat16;
using __hip_bfloat162 = __nv_bfloat162;

// The conversions whose names carry the type.
XTUNE_DEVICE __half __float2half(float x) { return __half(x); }
XTUNE_DEVICE __half __float2half_rn(float x) { return __half(x); }
XTUNE_DEVICE __half __double2half(double x) { return __half(x); }
XTUNE_DEVICE __half __int2half_rn(int x) { return __half(static_cast<float>(x)); }
XTUNE_DEVICE float __half2float(__half x) { return x; }
XTUNE_DEVICE int __half2int_rn(__half x) { return __float2int_rn(x); }
XTUNE_DEVICE int __half2int_rz(__half x) { return __float2int_rz(x); }
XTUNE_DEVICE int __half2int_rd(__half x) { return __float2int_rd(x); }
XTUNE_DEVICE int __half2int_ru(__half x) { return __float2int_ru(x); }
XTUNE_DEVICE unsigned short __half_as_ushort(__half x) { return x.bits; }
XTUNE_DEVICE short __half_as_short(__half x) { return static_cast<short>(x.bits); }
XTUNE_DEVICE __half __ushort_as_half(unsigned short x) { return xtune_bits<__half>(x); }
XTUNE_DEVICE __half __short_as_half(short x) { return xtune_bits<__half>(x); }
XTUNE_DEVICE __half2 __float2half2_rn(float x) { return {__half(x), __half(x)}; }
XTUNE_DEVICE __half2 __floats2half2_rn(float x, float y) { return {__half(x), __half(y)}; }
XTUNE_DEVICE __half2 __float22half2_rn(float2 x) { return {__half(x.x), __half(x.y)}; }
XTUNE_DEVICE float2 __half22float2(__half2 x) { return {x.x, x.y}; }
XTUNE_DEVICE __half2 __halves2half2(__half x, __half y) { return {x, y}; }
XTUNE_DEVICE __half2 __half2half2(__half x) { return {x, x}; }
XTUNE_DEVICE __half2 make_half2(__half x, __half y) { return {x, y}; }
XTUNE_DEVICE __half __low2half(__half2 x) { return x.x; }
XTUNE_DEVICE __half __high2half(__half2 x) { return x.y; }

XTUNE_DEVICE __nv_bfloat16 __float2bfloat16(float x) { return __nv_bfloat16(x); }
XTUNE_DEVICE __nv_bfloat16 __float2bfloat16_rn(float x) { return __nv_bfloat16(x); }
XTUNE_DEVICE __nv_bfloat16 __double2bfloat16(double x) { return __nv_bfloat16(x); }
XTUNE_DEVICE __nv_bfloat16 __int2bfloat16_rn(int x) { return __nv_bfloat16(static_cast<float>(x)); }
XTUNE_DEVICE float __bfloat162float(__nv_bfloat16 x) { return x; }
XTUNE_DEVICE unsigned short __bfloat16_as_ushort(__nv_bfloat16 x) { return x.bits; }
XTUNE_DEVICE __nv_bfloat16 __ushort_as_bfloat16(unsigned short x) { return xtune_bits<__nv_bfloat16>(x); }
XTUNE_DEVICE __nv_bfloat162 __float2bfloat162_rn(float x) { return {__nv_bfloat16(x), __nv_bfloat16(x)}; }
XTUNE_DEVICE __nv_bfloat162 __floats2bfloat162_rn(float x, float y) { return {__nv_bfloat16(x), __nv_bfloat16(y)}; }
XTUNE_DEVICE __nv_bfloat162 __float22bfloat162_rn(float2 x) { return {__nv_bfloat16(x.x), __nv_bfloat16(x.y)}; }
XTUNE_DEVICE float2 __bfloat1622float2(__nv_bfloat162 x) { return {x.x, x.y}; }
XTUNE_DEVICE __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) { return {x, y}; }
XTUNE_DEVICE __nv_bfloat162 __bfloat162bfloat162(__nv_bfloat16 x) { return {x, x}; }
XTUNE_DEVICE __nv_bfloat162 make_bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) { return {x, y}; }
XTUNE_DEVICE __nv_bfloat16 __low2bfloat16(__nv_bfloat162 x) { return x.x; }
XTUNE_DEVICE __nv_bfloat16 __high2bfloat16(__nv_bfloat162 x) { return x.y; }
