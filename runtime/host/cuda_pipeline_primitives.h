// CUDA's asynchronous copies to shared memory, each done as late as possible: when its thread waits for its group.
// Reading too early then shows in the results, as it may on a GPU. Source: CUDA C++ Programming Guide, "Asynchronous
// Data Copies", pipeline primitives.
#pragma once
#pragma GCC system_header

#include "xtune_host_threads.h"

struct XtuneCopy {
  void* to;
  const void* from;
  size_t bytes, zeros;
  unsigned long long group;
};

/// The copies of one thread of the block, in the order they were started.
struct XtuneCopies {
  XtuneCopy* list;
  size_t first, end, capacity;
  unsigned long long groups;  ///< number of committed groups
  unsigned long long block;   ///< the block of these copies
};

static thread_local XtuneCopies xtune_copies_of[1024];

static inline __attribute__((noinline)) void xtune_drop_copies(XtuneCopies& copies) {
  free(copies.list);
  copies.list = nullptr;
  copies.first = copies.end = copies.capacity = 0;
}

static inline __attribute__((noinline)) XtuneCopies& xtune_own_copies() {
  return xtune_copies_of[threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)];
}

/// Copies that a thread started and never waited for.
static const bool xtune_copies_end = [] {
  xtune_end_thread = [] { xtune_drop_copies(xtune_own_copies()); };
  return true;
}();

static inline __attribute__((noinline)) XtuneCopies& xtune_copies() {
  XtuneCopies& copies = xtune_own_copies();
  if (copies.block != xtune_blocks) {  // copies that an earlier block started and never waited for
    xtune_drop_copies(copies);
    copies.groups = 0;
    copies.block = xtune_blocks;
  }
  return copies;
}

static inline __attribute__((noinline)) void __pipeline_memcpy_async(void* to, const void* from, size_t bytes,
                                                                     size_t zeros = 0) {
  if ((bytes != 4 && bytes != 8 && bytes != 16) || zeros > bytes || reinterpret_cast<uintptr_t>(to) % bytes != 0 ||
      reinterpret_cast<uintptr_t>(from) % bytes != 0) {
    fprintf(stderr, "an asynchronous copy takes 4, 8 or 16 bytes, and both addresses are multiples of that\n");
    __trap();
  }
  XtuneCopies& copies = xtune_copies();
  if (copies.end == copies.capacity) {
    const size_t kept = copies.end - copies.first;
    if (kept > 0) memmove(copies.list, copies.list + copies.first, kept * sizeof(XtuneCopy));
    copies.first = 0;
    copies.end = kept;
    if (kept * 2 >= copies.capacity) {
      copies.capacity = copies.capacity ? 2 * copies.capacity : 16;
      copies.list = static_cast<XtuneCopy*>(realloc(copies.list, copies.capacity * sizeof(XtuneCopy)));
      if (!copies.list) abort();
    }
  }
  copies.list[copies.end++] = {to, from, bytes, zeros, copies.groups};
}

static inline __attribute__((noinline, unused)) void __pipeline_commit() { ++xtune_copies().groups; }

/// Waits until at most `pending` of this thread's groups are unfinished.
static inline __attribute__((noinline, unused)) void __pipeline_wait_prior(size_t pending) {
  XtuneCopies& copies = xtune_copies();
  for (; copies.first < copies.end; ++copies.first) {
    const XtuneCopy& copy = copies.list[copies.first];
    if (copy.group + pending >= copies.groups) return;
    memcpy(copy.to, copy.from, copy.bytes - copy.zeros);
    memset(static_cast<char*>(copy.to) + copy.bytes - copy.zeros, 0, copy.zeros);
  }
  xtune_drop_copies(copies);
}
