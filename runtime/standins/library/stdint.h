// For compilers without the C library (NVRTC, hipRTC): integer types. NVRTC's own headers (CCCL) have those of 64
// bits as long long, with these very macros.
#pragma once
#include "limits.h"

typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
#if defined(__CUDACC__)
typedef long long int64_t;
typedef unsigned long long uint64_t;
typedef short int_fast16_t;
typedef int int_fast32_t;
typedef unsigned short uint_fast16_t;
typedef unsigned int uint_fast32_t;
#else
// hipRTC before ROCm 7 has these without a header, as long long.
#if HIP_VERSION_MAJOR >= 7
typedef long int64_t;
typedef unsigned long uint64_t;
#endif
typedef long int_fast16_t, int_fast32_t;
typedef unsigned long uint_fast16_t, uint_fast32_t;
#endif
typedef int8_t int_least8_t, int_fast8_t;
typedef int16_t int_least16_t;
typedef int32_t int_least32_t;
typedef int64_t int_least64_t, int_fast64_t, intptr_t, intmax_t;
typedef uint8_t uint_least8_t, uint_fast8_t;
typedef uint16_t uint_least16_t;
typedef uint32_t uint_least32_t;
typedef uint64_t uint_least64_t, uint_fast64_t, uintptr_t, uintmax_t;

#undef INT8_MIN
#define INT8_MIN SCHAR_MIN
#undef INT16_MIN
#define INT16_MIN SHRT_MIN
#undef INT32_MIN
#define INT32_MIN INT_MIN
#undef INT64_MIN
#define INT64_MIN LLONG_MIN
#undef INT8_MAX
#define INT8_MAX SCHAR_MAX
#undef INT16_MAX
#define INT16_MAX SHRT_MAX
#undef INT32_MAX
#define INT32_MAX INT_MAX
#undef INT64_MAX
#define INT64_MAX LLONG_MAX
#undef UINT8_MAX
#define UINT8_MAX UCHAR_MAX
#undef UINT16_MAX
#define UINT16_MAX USHRT_MAX
#undef UINT32_MAX
#define UINT32_MAX UINT_MAX
#undef UINT64_MAX
#define UINT64_MAX ULLONG_MAX
#undef SIZE_MAX
#define SIZE_MAX UINT64_MAX
