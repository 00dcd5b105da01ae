// Copies from global to shared memory that bypass registers where the hardware can: asynchronous copies (NVIDIA, compute
// capability 8.0 on), and direct copies (AMD CDNA3). The host backend does them as late as it may, so that a
// wait or a barrier that is missing shows.
// Sources: CUDA PTX ISA, section "Data Movement and Conversion Instructions: Asynchronous copy" (cp.async); AMD Instinct
// MI300 Instruction Set Architecture, "Memory Load to LDS" (global_load_lds_dword).
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

#if defined(XTUNE_HOST) || defined(__gfx940__) || defined(__gfx941__) || defined(__gfx942__)
#define HAS_DIRECT_COPY 1
#else
#define HAS_DIRECT_COPY 0
#endif

#if HAS_DIRECT_COPY

/// Starts copying 4 bytes for each lane that calls it. The hardware counts the places from the one of lane 0 of the
/// wave: `to_shared` is that place plus 4 bytes for each lane below.
__device__ inline void direct_copy(void* to_shared, const void* from_global, int lane) {
#if defined(XTUNE_HOST)
  (void)lane;
  __pipeline_memcpy_async(to_shared, from_global, 4, 0);
#else
  // Not by the compiler's function for this instruction, with which clang 19 crashes. m0 has the place, one wait state
  // before; the compiler may use m0, so that it is restored.
  const auto place = (__attribute__((address_space(3))) char*)(static_cast<char*>(to_shared) - lane * 4);
  unsigned saved;
  asm volatile(
      "s_mov_b32 %0, m0\n\ts_mov_b32 m0, %2\n\ts_nop 0\n\tglobal_load_lds_dword %1, off\n\ts_mov_b32 m0, %0"
      : "=&s"(saved)
      : "v"(from_global), "s"(__builtin_amdgcn_readfirstlane(static_cast<int>(reinterpret_cast<size_t>(place))))
      : "memory");
#endif
}

/// Waits for this thread's direct copies, and on AMD for its loads.
__device__ inline void direct_copy_wait() {
#if defined(XTUNE_HOST)
  __pipeline_commit();
  __pipeline_wait_prior(0);
#else
  __builtin_amdgcn_s_waitcnt(0x0f70);  // vmcnt(0), as gfx9 encodes it
#endif
}

#endif
