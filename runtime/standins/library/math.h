// For compilers without the C library (NVRTC, hipRTC), which have its functions without a header: the constants.
#pragma once
#include "xtune_infinity.h"

#ifndef INFINITY
#define INFINITY XTUNE_INFINITY
#endif
#ifndef NAN
#define NAN XTUNE_NAN
#endif
#ifndef HUGE_VALF
#define HUGE_VALF XTUNE_INFINITY
#endif
#ifndef HUGE_VAL
#define HUGE_VAL static_cast<double>(XTUNE_INFINITY)
#endif
#ifndef M_PI
#define M_E 2.7182818284590452354
#define M_LOG2E 1.4426950408889634074
#define M_LN2 0.69314718055994530942
#define M_PI 3.14159265358979323846
#define M_PI_2 1.57079632679489661923
#define M_PI_4 0.78539816339744830962
#define M_SQRT2 1.41421356237309504880
#define M_SQRT1_2 0.70710678118654752440
#endif
