// The few words that CUDA C++ and HIP C++ spell differently, for the suite's kernels.
#pragma once

#if defined(XTUNE_HOST) || defined(__CUDACC__)
#define CUDA_SPELLING 1
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#define BFLOAT16 __nv_bfloat16
#define TO_BFLOAT16(x) __float2bfloat16(x)
#define FROM_BFLOAT16(x) __bfloat162float(x)
#else
#define CUDA_SPELLING 0
#define BFLOAT16 hip_bfloat16
#define TO_BFLOAT16(x) hip_bfloat16(x)
#define FROM_BFLOAT16(x) static_cast<float>(x)
#endif

// All lanes of a warp, of 32 or 64 lanes, take part.
#if CUDA_SPELLING
#define SHFL(v, lane) __shfl_sync(0xffffffffu, v, lane)
#define SHFL_UP(v, delta) __shfl_up_sync(0xffffffffu, v, delta)
#define SHFL_DOWN(v, delta) __shfl_down_sync(0xffffffffu, v, delta)
#define SHFL_XOR(v, mask) __shfl_xor_sync(0xffffffffu, v, mask)
#define BALLOT(p) static_cast<unsigned long long>(__ballot_sync(0xffffffffu, p))
#define ANY(p) __any_sync(0xffffffffu, p)
#define ALL(p) __all_sync(0xffffffffu, p)
#else
#define SHFL(v, lane) __shfl(v, lane)
#define SHFL_UP(v, delta) __shfl_up(v, delta)
#define SHFL_DOWN(v, delta) __shfl_down(v, delta)
#define SHFL_XOR(v, mask) __shfl_xor(v, mask)
#define BALLOT(p) static_cast<unsigned long long>(__ballot(p))
#define ANY(p) __any(p)
#define ALL(p) __all(p)
#endif
