// For compilers without the C library (NVRTC, hipRTC): limits of integers, as on 64-bit Linux.
#pragma once

#undef CHAR_BIT
#define CHAR_BIT 8
#undef SCHAR_MIN
#define SCHAR_MIN (-128)
#undef SCHAR_MAX
#define SCHAR_MAX 127
#undef UCHAR_MAX
#define UCHAR_MAX 255
#undef CHAR_MIN
#define CHAR_MIN SCHAR_MIN
#undef CHAR_MAX
#define CHAR_MAX SCHAR_MAX
#undef SHRT_MIN
#define SHRT_MIN (-32768)
#undef SHRT_MAX
#define SHRT_MAX 32767
#undef USHRT_MAX
#define USHRT_MAX 65535
#undef INT_MIN
#define INT_MIN (-2147483647 - 1)
#undef INT_MAX
#define INT_MAX 2147483647
#undef UINT_MAX
#define UINT_MAX 4294967295U
#undef LONG_MIN
#define LONG_MIN (-9223372036854775807L - 1)
#undef LONG_MAX
#define LONG_MAX 9223372036854775807L
#undef ULONG_MAX
#define ULONG_MAX 18446744073709551615UL
#undef LLONG_MIN
#define LLONG_MIN (-9223372036854775807LL - 1)
#undef LLONG_MAX
#define LLONG_MAX 9223372036854775807LL
#undef ULLONG_MAX
#define ULLONG_MAX 18446744073709551615ULL
