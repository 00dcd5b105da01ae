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
// For std::min and std::max.
#if __has_include(<bits/stl_algobase.h>)
#include <bits/stl_algobase.h>
#else
#include <algorithm>
#endif
#include <limits>
#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// HIP's names of built-in variables.
#define hipThreadIdx_x threadIdx.x
#define hipThreadIdx_y threadIdx.y
#define hipThreadIdx_z threadIdx.z
#define hipBlockIdx_x blockIdx.x
#define hipBlockIdx_y blockIdx.y
#define hipBlockIdx_z blockIdx.z
#define hipBlockDim_x blockDim.x
#define hipBlockDim_y blockDim.y
#define hipBlockDim_z blockDim.z
#define hipGridDim_x gridDim.x
#define hipGridDim_y gridDim.y
#define hipGridDim_z gridDim.z

// What nvcc and clang build in, and GCC does not.
#ifndef __clang__
#define __builtin_assume(condition) ((condition) ? static_cast<void>(0) : __builtin_unreachable())
#define __builtin_nontemporal_load(place) (*(place))
#define __builtin_nontemporal_store(value, place) (*(place) = (value))
#endif
#define __assume(condition) __builtin_assume(condition)

#define XTUNE_DEVICE static inline __attribute__((unused))
