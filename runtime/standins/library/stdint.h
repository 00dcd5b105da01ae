// For compilers without the C library (NVRTC, hipRTC): integer types, as on 64-bit Linux.
#pragma once

typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
// hipRTC before ROCm 7 has these without a header, as long long.
#if !defined(__HIPCC_RTC__) || HIP_VERSION_MAJOR >= 7
typedef long int64_t;
typedef unsigned long uint64_t;
#endif
typedef signed char int_least8_t, int_fast8_t;
typedef short int_least16_t;
typedef int int_least32_t;
typedef long int_least64_t, int_fast16_t, int_fast32_t, int_fast64_t, intptr_t, intmax_t;
typedef unsigned char uint_least8_t, uint_fast8_t;
typedef unsigned short uint_least16_t;
typedef unsigned int uint_least32_t;
typedef unsigned long uint_least64_t, uint_fast16_t, uint_fast32_t, uint_fast64_t, uintptr_t, uintmax_t;

#undef INT8_MIN
#undef INT8_MAX
#undef INT16_MIN
#undef INT16_MAX
#undef INT32_MIN
#undef INT32_MAX
#undef INT64_MIN
#undef INT64_MAX
#undef UINT8_MAX
#undef UINT16_MAX
#undef UINT32_MAX
#undef UINT64_MAX
#undef SIZE_MAX
#define INT8_MIN (-128)
#define INT8_MAX 127
#define INT16_MIN (-32768)
#define INT16_MAX 32767
#define INT32_MIN (-2147483647 - 1)
#define INT32_MAX 2147483647
#define INT64_MIN (-9223372036854775807L - 1)
#define INT64_MAX 9223372036854775807L
#define UINT8_MAX 255
#define UINT16_MAX 65535
#define UINT32_MAX 4294967295U
#define UINT64_MAX 18446744073709551615UL
#define SIZE_MAX 18446744073709551615UL
