// Before each kernel, for compilers without the C and C++ libraries (NVRTC, hipRTC): the names that nvcc and clang give
// without an #include.
#pragma once
#include "algorithm"
#include "cmath"
#include "cstddef"
#include "cstdint"
#include "xtune_limits.h"

#ifndef uint
typedef unsigned int uint;
#endif
#ifndef ushort
typedef unsigned short ushort;
#endif
#ifndef ulong
typedef unsigned long ulong;
#endif

#if defined(__CUDACC__)
#include "xtune_hip_types.h"
#endif
