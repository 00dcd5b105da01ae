// Copies from global to shared memory that bypass registers where the hardware can (NVIDIA, compute capability 8.0 on).
// The host backend does them as late as it may, so that a wait or a barrier that is missing shows.
// Source: CUDA PTX ISA, section "Data Movement and Conversion Instructions: Asynchronous copy" (cp.async).
#pragma once

#include "portable.cuh"

#if defined(XTUNE_HOST)
#define HAS_ASYNC_COPY 1
#include <cuda_pipeline.h>
#elif ON_NVIDIA && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
#define HAS_ASYNC_COPY 1
#else
#define HAS_ASYNC_COPY 0
#endif

#if HAS_ASYNC_COPY

/// Starts copying BYTES (4, 8 or 16), or zeros when `valid` is false, in which case `from` is not read. Both addresses
/// are multiples of BYTES.
template <int BYTES>
__device__ inline void async_copy(void* to_shared, const void* from_global, bool valid) {
#if defined(XTUNE_HOST)
  __pipeline_memcpy_async(to_shared, from_global, BYTES, valid ? 0 : BYTES);
#else
  const unsigned to = static_cast<unsigned>(__cvta_generic_to_shared(to_shared));
  const int read_bytes = valid ? BYTES : 0;
  if constexpr (BYTES == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from_global), "r"(read_bytes)
                 : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(to), "l"(from_global), "n"(BYTES),
                 "r"(read_bytes)
                 : "memory");
  }
#endif
}

/// Closes the group of this thread's copies started since the last call.
__device__ inline void async_copy_commit() {
#if defined(XTUNE_HOST)
  __pipeline_commit();
#else
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

/// Waits until no more than PENDING of this thread's groups are unfinished.
template <int PENDING>
__device__ inline void async_copy_wait() {
#if defined(XTUNE_HOST)
  __pipeline_wait_prior(PENDING);
#else
  asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
#endif
}

#endif
