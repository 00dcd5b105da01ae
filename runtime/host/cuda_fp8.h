// CUDA's header of this name: 8-bit floats and their pairs and quadruples. Conversions round to nearest even, once,
// from whatever type. Sources: CUDA Math API, "FP8 Intrinsics"; OCP 8-bit Floating Point Specification 1.0.
#pragma once
#pragma GCC system_header

#include <xtune/narrow.cuh>

#include "xtune_host_half.h"

using __nv_fp8_storage_t = unsigned char;
using __nv_fp8x2_storage_t = unsigned short;
using __nv_fp8x4_storage_t = unsigned int;
/// What becomes of infinity and of numbers that are too large: NaN in E4M3 and infinity in E5M2, or the largest number.
enum __nv_saturation_t { __NV_NOSAT, __NV_SATFINITE };
enum __nv_fp8_interpretation_t { __NV_E4M3, __NV_E5M2 };

XTUNE_DEVICE __nv_fp8_storage_t __nv_cvt_float_to_fp8(float x, __nv_saturation_t saturate,
                                                      __nv_fp8_interpretation_t kind) {
  return kind == __NV_E4M3 ? xtune::detail::f8e4m3_code(x, saturate == __NV_SATFINITE)
                           : xtune::detail::f8e5m2_code(x, saturate == __NV_SATFINITE);
}
XTUNE_DEVICE __nv_fp8_storage_t __nv_cvt_double_to_fp8(double x, __nv_saturation_t saturate,
                                                       __nv_fp8_interpretation_t kind) {
  return __nv_cvt_float_to_fp8(xtune_float_by_odd(x), saturate, kind);
}
XTUNE_DEVICE __nv_fp8_storage_t __nv_cvt_halfraw_to_fp8(__half_raw x, __nv_saturation_t saturate,
                                                        __nv_fp8_interpretation_t kind) {
  return __nv_cvt_float_to_fp8(xtune_half_to_float(x.x), saturate, kind);
}
XTUNE_DEVICE __nv_fp8_storage_t __nv_cvt_bfloat16raw_to_fp8(__nv_bfloat16_raw x, __nv_saturation_t saturate,
                                                            __nv_fp8_interpretation_t kind) {
  return __nv_cvt_float_to_fp8(xtune_bfloat16_to_float(x.x), saturate, kind);
}

XTUNE_DEVICE __nv_fp8x2_storage_t xtune_fp8x2(__nv_fp8_storage_t low, __nv_fp8_storage_t high) {
  return static_cast<__nv_fp8x2_storage_t>(low | high << 8);
}
XTUNE_DEVICE __nv_fp8x2_storage_t __nv_cvt_float2_to_fp8x2(float2 x, __nv_saturation_t saturate,
                                                           __nv_fp8_interpretation_t kind) {
  return xtune_fp8x2(__nv_cvt_float_to_fp8(x.x, saturate, kind), __nv_cvt_float_to_fp8(x.y, saturate, kind));
}
XTUNE_DEVICE __nv_fp8x2_storage_t __nv_cvt_double2_to_fp8x2(double2 x, __nv_saturation_t saturate,
                                                            __nv_fp8_interpretation_t kind) {
  return xtune_fp8x2(__nv_cvt_double_to_fp8(x.x, saturate, kind), __nv_cvt_double_to_fp8(x.y, saturate, kind));
}
XTUNE_DEVICE __nv_fp8x2_storage_t __nv_cvt_halfraw2_to_fp8x2(__half2_raw x, __nv_saturation_t saturate,
                                                             __nv_fp8_interpretation_t kind) {
  return xtune_fp8x2(__nv_cvt_halfraw_to_fp8({x.x}, saturate, kind), __nv_cvt_halfraw_to_fp8({x.y}, saturate, kind));
}
XTUNE_DEVICE __nv_fp8x2_storage_t __nv_cvt_bfloat16raw2_to_fp8x2(__nv_bfloat162_raw x, __nv_saturation_t saturate,
                                                                 __nv_fp8_interpretation_t kind) {
  return xtune_fp8x2(__nv_cvt_bfloat16raw_to_fp8({x.x}, saturate, kind),
                     __nv_cvt_bfloat16raw_to_fp8({x.y}, saturate, kind));
}

XTUNE_DEVICE float xtune_fp8_to_float(__nv_fp8_storage_t x, __nv_fp8_interpretation_t kind) {
  return kind == __NV_E4M3 ? xtune::detail::f8e4m3_value(x) : xtune::detail::f8e5m2_value(x);
}
/// Exact; NaN becomes 0x7fff.
XTUNE_DEVICE __half_raw __nv_cvt_fp8_to_halfraw(__nv_fp8_storage_t x, __nv_fp8_interpretation_t kind) {
  const float value = xtune_fp8_to_float(x, kind);
  return {value == value ? xtune_float_to_half(value) : static_cast<unsigned short>(0x7fff)};
}
XTUNE_DEVICE __half2_raw __nv_cvt_fp8x2_to_halfraw2(__nv_fp8x2_storage_t x, __nv_fp8_interpretation_t kind) {
  return {__nv_cvt_fp8_to_halfraw(static_cast<__nv_fp8_storage_t>(x), kind).x,
          __nv_cvt_fp8_to_halfraw(static_cast<__nv_fp8_storage_t>(x >> 8), kind).x};
}

/// Constructors saturate.
template <__nv_fp8_interpretation_t KIND>
struct XtuneFp8 {
  __nv_fp8_storage_t __x;

  XtuneFp8() = default;
  explicit XtuneFp8(float x) : __x(__nv_cvt_float_to_fp8(x, __NV_SATFINITE, KIND)) {}
  explicit XtuneFp8(double x) : __x(__nv_cvt_double_to_fp8(x, __NV_SATFINITE, KIND)) {}
  explicit XtuneFp8(__half x) : XtuneFp8(xtune_widen(x)) {}
  explicit XtuneFp8(__nv_bfloat16 x) : XtuneFp8(xtune_widen(x)) {}
  explicit XtuneFp8(short x) : XtuneFp8(static_cast<float>(x)) {}
  explicit XtuneFp8(unsigned short x) : XtuneFp8(static_cast<float>(x)) {}
  explicit XtuneFp8(int x) : XtuneFp8(static_cast<double>(x)) {}
  explicit XtuneFp8(unsigned x) : XtuneFp8(static_cast<double>(x)) {}
  // Beyond 2^53 every 8-bit float is saturated.
  explicit XtuneFp8(long x) : XtuneFp8(static_cast<double>(x)) {}
  explicit XtuneFp8(unsigned long x) : XtuneFp8(static_cast<double>(x)) {}
  explicit XtuneFp8(long long x) : XtuneFp8(static_cast<double>(x)) {}
  explicit XtuneFp8(unsigned long long x) : XtuneFp8(static_cast<double>(x)) {}

  explicit operator float() const { return xtune_fp8_to_float(__x, KIND); }
  explicit operator double() const { return static_cast<double>(static_cast<float>(*this)); }
  explicit operator __half() const { return __half(__nv_cvt_fp8_to_halfraw(__x, KIND)); }
  explicit operator __nv_bfloat16() const { return __nv_bfloat16(static_cast<float>(*this)); }
  explicit operator bool() const { return (__x & 0x7fu) != 0; }
#define XTUNE_FP8_INTEGER(T, low, high) \
  explicit operator T() const { return xtune_to_integer<T>(static_cast<double>(*this), low, high); }
  XTUNE_FP8_INTEGER(char, char(-1) < 0 ? -128.0 : 0.0, char(-1) < 0 ? 127.0 : 255.0)
  XTUNE_FP8_INTEGER(signed char, -128.0, 127.0)
  XTUNE_FP8_INTEGER(unsigned char, 0.0, 255.0)
  XTUNE_FP8_INTEGER(short, -32768.0, 32767.0)
  XTUNE_FP8_INTEGER(unsigned short, 0.0, 65535.0)
  XTUNE_FP8_INTEGER(int, -2147483648.0, 2147483647.0)
  XTUNE_FP8_INTEGER(unsigned, 0.0, 4294967295.0)
  // No finite 8-bit float reaches these limits.
  XTUNE_FP8_INTEGER(long, -4611686018427387904.0, 4611686018427387904.0)
  XTUNE_FP8_INTEGER(unsigned long, 0.0, 4611686018427387904.0)
  XTUNE_FP8_INTEGER(long long, -4611686018427387904.0, 4611686018427387904.0)
  XTUNE_FP8_INTEGER(unsigned long long, 0.0, 4611686018427387904.0)
#undef XTUNE_FP8_INTEGER
};

template <__nv_fp8_interpretation_t KIND>
struct XtuneFp8x2 {
  __nv_fp8x2_storage_t __x;

  XtuneFp8x2() = default;
  explicit XtuneFp8x2(float2 x) : __x(__nv_cvt_float2_to_fp8x2(x, __NV_SATFINITE, KIND)) {}
  explicit XtuneFp8x2(double2 x) : __x(__nv_cvt_double2_to_fp8x2(x, __NV_SATFINITE, KIND)) {}
  explicit XtuneFp8x2(__half2 x) : XtuneFp8x2(float2{x.x, x.y}) {}
  explicit XtuneFp8x2(__nv_bfloat162 x) : XtuneFp8x2(float2{x.x, x.y}) {}

  explicit operator __half2() const { return __half2(__nv_cvt_fp8x2_to_halfraw2(__x, KIND)); }
  explicit operator float2() const {
    return {xtune_fp8_to_float(static_cast<__nv_fp8_storage_t>(__x), KIND),
            xtune_fp8_to_float(static_cast<__nv_fp8_storage_t>(__x >> 8), KIND)};
  }
};

template <__nv_fp8_interpretation_t KIND>
struct XtuneFp8x4 {
  __nv_fp8x4_storage_t __x;

  XtuneFp8x4() = default;
  XtuneFp8x4(XtuneFp8x2<KIND> low, XtuneFp8x2<KIND> high) : __x(low.__x | static_cast<unsigned>(high.__x) << 16) {}
  explicit XtuneFp8x4(float4 x) : XtuneFp8x4(XtuneFp8x2<KIND>(float2{x.x, x.y}), XtuneFp8x2<KIND>(float2{x.z, x.w})) {}
  explicit XtuneFp8x4(double4 x)
      : XtuneFp8x4(XtuneFp8x2<KIND>(double2{x.x, x.y}), XtuneFp8x2<KIND>(double2{x.z, x.w})) {}
  explicit XtuneFp8x4(__half2 low, __half2 high) : XtuneFp8x4(XtuneFp8x2<KIND>(low), XtuneFp8x2<KIND>(high)) {}
  explicit XtuneFp8x4(__nv_bfloat162 low, __nv_bfloat162 high)
      : XtuneFp8x4(XtuneFp8x2<KIND>(low), XtuneFp8x2<KIND>(high)) {}

  explicit operator float4() const {
    const auto value = [this](int i) {
      return xtune_fp8_to_float(static_cast<__nv_fp8_storage_t>(__x >> 8 * i), KIND);
    };
    return {value(0), value(1), value(2), value(3)};
  }
};

using XtuneE4M3 = XtuneFp8<__NV_E4M3>;
using XtuneE5M2 = XtuneFp8<__NV_E5M2>;
using XtuneE4M3x2 = XtuneFp8x2<__NV_E4M3>;
using XtuneE5M2x2 = XtuneFp8x2<__NV_E5M2>;
using XtuneE4M3x4 = XtuneFp8x4<__NV_E4M3>;
using XtuneE5M2x4 = XtuneFp8x4<__NV_E5M2>;
struct __nv_fp8_e4m3 : XtuneE4M3 {
  using XtuneE4M3::XtuneE4M3;
};
struct __nv_fp8_e5m2 : XtuneE5M2 {
  using XtuneE5M2::XtuneE5M2;
};
struct __nv_fp8x2_e4m3 : XtuneE4M3x2 {
  using XtuneE4M3x2::XtuneE4M3x2;
};
struct __nv_fp8x2_e5m2 : XtuneE5M2x2 {
  using XtuneE5M2x2::XtuneE5M2x2;
};
struct __nv_fp8x4_e4m3 : XtuneE4M3x4 {
  using XtuneE4M3x4::XtuneE4M3x4;
};
struct __nv_fp8x4_e5m2 : XtuneE5M2x4 {
  using XtuneE5M2x4::XtuneE5M2x4;
};
XTUNE_ELEMENT(__nv_fp8_e4m3, '4')
XTUNE_ELEMENT(__nv_fp8_e5m2, '5')
