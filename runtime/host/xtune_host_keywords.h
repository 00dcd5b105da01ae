// The keywords of CUDA C++ and HIP C++ that have no meaning, or a simple one, on a CPU.
// __shared__ and __noinline__ are not macros: xtune rewrites them in the preprocessed text.
#pragma once
#pragma GCC system_header

#define XTUNE_HOST 1

#define __global__
#define __device__
#define __host__
#define __constant__
#define __managed__
#define __grid_constant__
#define __launch_bounds__(...)
#define __maxnreg__(...)
#define __forceinline__ inline __attribute__((always_inline))
#define __align__(n) __attribute__((aligned(n)))

#include <stddef.h>
// The special functions of C++17 make <math.h> five times as long; no kernel language has them.
#if __has_include(<bits/c++config.h>)
#include <bits/c++config.h>
#undef _GLIBCXX_USE_STD_SPEC_FUNCS
#endif
#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XTUNE_DEVICE static inline __attribute__((unused))
