// The position of a thread, and how it waits for the others of its block and its warp.
#pragma once
#pragma GCC system_header

#include "xtune_host_abi.h"
#include "xtune_host_vectors.h"

static thread_local uint3 threadIdx, blockIdx;
static thread_local dim3 blockDim, gridDim;
static constexpr int warpSize = 32;

static const XtuneServices* xtune_services;
static thread_local void* xtune_dynamic_shared_memory;
// Cleanup of a header when a thread of a block has ended; most have none, which costs nothing.
static void (*xtune_end_thread)() = nullptr;
static thread_local unsigned long long xtune_blocks;  // blocks begun on this operating-system thread

/// Initialises a pointer of any type with the block's dynamic shared memory.
struct XtuneDynamicShared {
  template <class T>
  operator T*() const {
    return static_cast<T*>(xtune_dynamic_shared_memory);
  }
};

/// A shared variable of a sanitized kernel: on the heap, between red zones that templates' static variables do not
/// have.
template <class T>
T& xtune_guarded_shared() {
  constexpr size_t alignment = alignof(T) > 128 ? alignof(T) : 128;
  void* memory = nullptr;
  if (posix_memalign(&memory, alignment, sizeof(T)) != 0) abort();
  return *static_cast<T*>(memory);
}

// The variables above belong to the running thread of the block: each thread restores its own after it has waited.
#define XTUNE_WAIT(call)                   \
  do {                                     \
    const uint3 self = threadIdx;          \
    __asm__ __volatile__("" ::: "memory"); \
    call;                                  \
    __asm__ __volatile__("" ::: "memory"); \
    threadIdx = self;                      \
  } while (false)

XTUNE_DEVICE unsigned long long xtune_barrier(int predicate) {
  unsigned long long counts;
  XTUNE_WAIT(counts = xtune_services->barrier(predicate));
  return counts;
}
XTUNE_DEVICE void __syncthreads() { xtune_barrier(0); }
/// Waits for all threads of a cooperative launch.
XTUNE_DEVICE void xtune_sync_grid() {
  __syncthreads();
  if (threadIdx.x == 0 && threadIdx.y == 0 && threadIdx.z == 0) xtune_services->grid_barrier();
  __syncthreads();
}
XTUNE_DEVICE int __syncthreads_count(int predicate) { return static_cast<int>(xtune_barrier(predicate) & 0xffffffffu); }
XTUNE_DEVICE int __syncthreads_or(int predicate) { return __syncthreads_count(predicate) != 0; }
XTUNE_DEVICE int __syncthreads_and(int predicate) {
  const unsigned long long counts = xtune_barrier(predicate);
  return (counts & 0xffffffffu) == counts >> 32;
}

/// This thread's position in its warp.
XTUNE_DEVICE int xtune_lane() {
  return static_cast<int>((threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) % 32u);
}
XTUNE_DEVICE unsigned __lane_id() { return static_cast<unsigned>(xtune_lane()); }
XTUNE_DEVICE XtuneLane xtune_meet(unsigned mask, int source, int predicate, unsigned long long value, int line = 0) {
  XtuneLane lane = {mask, line, source, predicate, value, 0, 0};
  XTUNE_WAIT(xtune_services->warp(&lane));
  return lane;
}

XTUNE_DEVICE void __syncwarp(unsigned mask = 0xffffffffu) { xtune_meet(mask, -1, 0, 0); }
XTUNE_DEVICE void __nanosleep(unsigned) { XTUNE_WAIT(xtune_services->yield()); }
XTUNE_DEVICE unsigned __ballot_sync(unsigned mask, int predicate) { return xtune_meet(mask, -1, predicate, 0).ballot; }
XTUNE_DEVICE int __any_sync(unsigned mask, int predicate) { return __ballot_sync(mask, predicate) != 0; }
XTUNE_DEVICE int __all_sync(unsigned mask, int predicate) {
  const XtuneLane lane = xtune_meet(mask, -1, predicate, 0);
  return lane.ballot == lane.participants;
}

// Without a mask the lanes meet that are at the same place of the source: those of both sides of a branch do not.
#define XTUNE_PLACE int line = __builtin_LINE()
XTUNE_DEVICE unsigned __activemask(XTUNE_PLACE) { return xtune_meet(0, -1, 0, 0, line).participants; }
XTUNE_DEVICE unsigned long long __ballot(int predicate, XTUNE_PLACE) {
  return xtune_meet(0, -1, predicate, 0, line).ballot;
}
XTUNE_DEVICE int __any(int predicate, XTUNE_PLACE) { return __ballot(predicate, line) != 0; }
XTUNE_DEVICE int __all(int predicate, XTUNE_PLACE) {
  const XtuneLane lane = xtune_meet(0, -1, predicate, 0, line);
  return lane.ballot == lane.participants;
}

template <class T>
XTUNE_DEVICE T xtune_shuffle(unsigned mask, T value, int source, int line = 0) {
  static_assert(sizeof(T) <= 8, "a shuffle moves values of at most 8 bytes");
  unsigned long long bits = 0;
  memcpy(static_cast<void*>(&bits), static_cast<const void*>(&value), sizeof value);
  bits = xtune_meet(mask, source, 0, bits, line).value;
  memcpy(static_cast<void*>(&value), static_cast<const void*>(&bits), sizeof value);
  return value;
}
// The lanes of a width share their upper bits; a source outside of them means the lane's own value.
XTUNE_DEVICE int xtune_up(unsigned delta, int width) {
  const int lane = xtune_lane(), from = lane % width - static_cast<int>(delta);
  return from < 0 ? lane : lane - static_cast<int>(delta);
}
XTUNE_DEVICE int xtune_down(unsigned delta, int width) {
  const int lane = xtune_lane();
  return static_cast<unsigned>(lane % width) + delta >= static_cast<unsigned>(width) ? lane
                                                                                     : lane + static_cast<int>(delta);
}
XTUNE_DEVICE int xtune_across(int lane_mask, int width) {
  const int lane = xtune_lane(), source = lane ^ (lane_mask & 31);
  return source / width > lane / width ? lane : source;
}
XTUNE_DEVICE int xtune_at(int source, int width) { return xtune_lane() / width * width + (source & (width - 1)); }

template <class T>
XTUNE_DEVICE T __shfl_sync(unsigned mask, T value, int source, int width = 32) {
  return xtune_shuffle(mask, value, xtune_at(source, width));
}
template <class T>
XTUNE_DEVICE T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  return xtune_shuffle(mask, value, xtune_up(delta, width));
}
template <class T>
XTUNE_DEVICE T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  return xtune_shuffle(mask, value, xtune_down(delta, width));
}
template <class T>
XTUNE_DEVICE T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = 32) {
  return xtune_shuffle(mask, value, xtune_across(lane_mask, width));
}
template <class T>
XTUNE_DEVICE T __shfl(T value, int source, int width = 32, XTUNE_PLACE) {
  return xtune_shuffle(0, value, xtune_at(source, width), line);
}
template <class T>
XTUNE_DEVICE T __shfl_up(T value, unsigned delta, int width = 32, XTUNE_PLACE) {
  return xtune_shuffle(0, value, xtune_up(delta, width), line);
}
template <class T>
XTUNE_DEVICE T __shfl_down(T value, unsigned delta, int width = 32, XTUNE_PLACE) {
  return xtune_shuffle(0, value, xtune_down(delta, width), line);
}
template <class T>
XTUNE_DEVICE T __shfl_xor(T value, int lane_mask, int width = 32, XTUNE_PLACE) {
  return xtune_shuffle(0, value, xtune_across(lane_mask, width), line);
}
#undef XTUNE_PLACE

XTUNE_DEVICE void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
XTUNE_DEVICE void __threadfence_block() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
XTUNE_DEVICE void __threadfence_system() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
XTUNE_DEVICE void __trap() {
  fprintf(stderr, "__trap() in block (%u, %u, %u), thread (%u, %u, %u)\n", blockIdx.x, blockIdx.y, blockIdx.z,
          threadIdx.x, threadIdx.y, threadIdx.z);
  __builtin_trap();
}

// Addresses are the same in all memories of a CPU.
XTUNE_DEVICE size_t __cvta_generic_to_shared(const void* place) { return reinterpret_cast<size_t>(place); }
XTUNE_DEVICE size_t __cvta_generic_to_global(const void* place) { return reinterpret_cast<size_t>(place); }
XTUNE_DEVICE void* __cvta_shared_to_generic(size_t place) { return reinterpret_cast<void*>(place); }
XTUNE_DEVICE void* __cvta_global_to_generic(size_t place) { return reinterpret_cast<void*>(place); }
