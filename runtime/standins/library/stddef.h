// For compilers without the C library (NVRTC, hipRTC).
#pragma once

typedef unsigned long size_t;
typedef long ptrdiff_t;
#undef NULL
#define NULL 0
#undef offsetof
#ifdef __CUDACC_RTC__
#define offsetof(type, member) __INTADDR__(&((type*)0)->member)  // a constant expression in EDG's compilers
#else
#define offsetof(type, member) __builtin_offsetof(type, member)
#endif
