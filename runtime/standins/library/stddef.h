// For compilers without the C library (NVRTC, hipRTC).
#pragma once

typedef unsigned long size_t;
typedef long ptrdiff_t;
#undef NULL
#define NULL 0
#undef offsetof
#define offsetof(type, member) __builtin_offsetof(type, member)
