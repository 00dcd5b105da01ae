// For compilers without the C library (NVRTC, hipRTC).
#pragma once

typedef unsigned long size_t;
typedef long ptrdiff_t;
#undef NULL
#define NULL 0
#ifndef offsetof  // NVRTC has its own
#define offsetof(type, member) __builtin_offsetof(type, member)
#endif
