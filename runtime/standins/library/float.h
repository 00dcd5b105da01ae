// For compilers without the C library (NVRTC, hipRTC): limits of IEEE 754 binary32 and binary64.
#pragma once

#undef FLT_RADIX
#define FLT_RADIX 2
#undef FLT_MANT_DIG
#define FLT_MANT_DIG 24
#undef DBL_MANT_DIG
#define DBL_MANT_DIG 53
#undef FLT_DIG
#define FLT_DIG 6
#undef DBL_DIG
#define DBL_DIG 15
#undef FLT_EPSILON
#define FLT_EPSILON 1.1920928955078125e-7F
#undef DBL_EPSILON
#define DBL_EPSILON 2.220446049250313e-16
#undef FLT_MIN
#define FLT_MIN 1.17549435082228750797e-38F
#undef FLT_MAX
#define FLT_MAX 3.40282346638528859812e+38F
#undef DBL_MIN
#define DBL_MIN 2.2250738585072014e-308
#undef DBL_MAX
#define DBL_MAX 1.7976931348623157e+308
