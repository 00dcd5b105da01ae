// Infinity and a quiet NaN as constant expressions, for <limits> and <math.h>.
#pragma once

#if defined(__CUDACC_VER_MAJOR__) && __CUDACC_VER_MAJOR__ < 12
// NVRTC 11 has no __builtin_bit_cast, and divides by zero in constant expressions.
#define XTUNE_INFINITY (1.0F / 0.0F)
#define XTUNE_NAN (-(0.0F / 0.0F))
#else
#define XTUNE_INFINITY __builtin_bit_cast(float, 0x7f800000)
#define XTUNE_NAN __builtin_bit_cast(float, 0x7fc00000)
#endif
