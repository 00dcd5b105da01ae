// For compilers without the C library (NVRTC, hipRTC): limits of integers, as on 64-bit Linux. In the words of NVRTC's own
// headers (CCCL), which may follow.
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
#define CHAR_MIN ('\xff' < 0 ? SCHAR_MIN : 0)
#undef CHAR_MAX
#define CHAR_MAX ('\xff' < 0 ? SCHAR_MAX : UCHAR_MAX)
#undef SHRT_MIN
#define SHRT_MIN (-SHRT_MAX - 1)
#undef SHRT_MAX
#define SHRT_MAX 0x7fff
#undef USHRT_MAX
#define USHRT_MAX 0xffff
#undef INT_MIN
#define INT_MIN (-INT_MAX - 1)
#undef INT_MAX
#define INT_MAX 0x7fffffff
#undef UINT_MAX
#define UINT_MAX 0xffffffff
#undef LONG_MIN
#define LONG_MIN (-LONG_MAX - 1)
#undef LONG_MAX
#define LONG_MAX LLONG_MAX
#undef ULONG_MAX
#define ULONG_MAX ULLONG_MAX
#undef LLONG_MIN
#define LLONG_MIN (-LLONG_MAX - 1)
#undef LLONG_MAX
#define LLONG_MAX 0x7fffffffffffffffLL
#undef ULLONG_MAX
#define ULLONG_MAX 0xffffffffffffffffUL
