// HIP's names of 8-bit floats in OCP's formats, for the types of cuda_fp8.h.
#pragma once
#pragma GCC system_header

#include "cuda_fp8.h"

using __hip_fp8_storage_t = __nv_fp8_storage_t;
using __hip_fp8x2_storage_t = __nv_fp8x2_storage_t;
using __hip_fp8x4_storage_t = __nv_fp8x4_storage_t;
using __hip_saturation_t = __nv_saturation_t;
using __hip_fp8_interpretation_t = __nv_fp8_interpretation_t;
static constexpr __hip_saturation_t __HIP_NOSAT = __NV_NOSAT, __HIP_SATFINITE = __NV_SATFINITE;
static constexpr __hip_fp8_interpretation_t __HIP_E4M3 = __NV_E4M3, __HIP_E5M2 = __NV_E5M2;
using __hip_fp8_e4m3 = __nv_fp8_e4m3;
using __hip_fp8_e5m2 = __nv_fp8_e5m2;
using __hip_fp8x2_e4m3 = __nv_fp8x2_e4m3;
using __hip_fp8x2_e5m2 = __nv_fp8x2_e5m2;
using __hip_fp8x4_e4m3 = __nv_fp8x4_e4m3;
using __hip_fp8x4_e5m2 = __nv_fp8x4_e5m2;

XTUNE_DEVICE __hip_fp8_storage_t __hip_cvt_float_to_fp8(float x, __hip_saturation_t saturate,
                                                        __hip_fp8_interpretation_t kind) {
  return __nv_cvt_float_to_fp8(x, saturate, kind);
}
XTUNE_DEVICE __hip_fp8_storage_t __hip_cvt_double_to_fp8(double x, __hip_saturation_t saturate,
                                                         __hip_fp8_interpretation_t kind) {
  return __nv_cvt_double_to_fp8(x, saturate, kind);
}
XTUNE_DEVICE __hip_fp8x2_storage_t __hip_cvt_float2_to_fp8x2(float2 x, __hip_saturation_t saturate,
                                                             __hip_fp8_interpretation_t kind) {
  return __nv_cvt_float2_to_fp8x2(x, saturate, kind);
}
XTUNE_DEVICE __half_raw __hip_cvt_fp8_to_halfraw(__hip_fp8_storage_t x, __hip_fp8_interpretation_t kind) {
  return __nv_cvt_fp8_to_halfraw(x, kind);
}
XTUNE_DEVICE __half2_raw __hip_cvt_fp8x2_to_halfraw2(__hip_fp8x2_storage_t x, __hip_fp8_interpretation_t kind) {
  return __nv_cvt_fp8x2_to_halfraw2(x, kind);
}
