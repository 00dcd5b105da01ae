// Copies from global to shared memory that bypass registers where the hardware can (NVIDIA, compute capability 8.0 on).
// Source: CUDA PTX ISA, section "Data Movement and Conversion Instructions: Asynchronous copy" (cp.async).
#pragma once

#include "portable.cuh"

#if ON_NVIDIA && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
#define HAS_ASYNC_COPY 1
#else
#define HAS_ASYNC_COPY 0
#endif

#if HAS_ASYNC_COPY

/// Starts copying BYTES (4, 8 or 16), or zeros when `valid` is false, in which case `from` is not read. Both addresses
/// are multiples of BYTES.
template <int BYTES>
__device__ inline void async_copy(void* to_shared, const void* from_global, bool valid) {
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
}

/// Closes the group of this thread's copies started since the last call.
__device__ inline void async_copy_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }

/// Waits until at most PENDING of this thread's groups are unfinished.
template <int PENDING>
__device__ inline void async_copy_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
}

#endif
