// Consecutive elements at any address as packs: what comes before the first aligned address and after the last whole
// pack is read element by element, the rest in whole packs. Which elements these are is decided for each stretch, so
// rows of odd lengths are read in packs too.
#pragma once

#include "pack.cuh"

template <int COUNT>
struct Stretch {
  int head;   // elements before the first pack
  int packs;  // whole, aligned packs of COUNT elements
  int tail;   // elements after the last pack

  __device__ int edges() const { return head + tail; }
  /// Index of the edge-th element that is in no pack.
  __device__ int edge_index(int edge) const { return edge < head ? edge : packs * COUNT + edge; }
  __device__ int pack_index(int pack) const { return head + pack * COUNT; }
};

/// The `count` elements from `start` on.
template <int COUNT, typename T>
__device__ inline Stretch<COUNT> stretch_of(const T* start, int count) {
  constexpr int bytes = static_cast<int>(alignof(Pack<T, COUNT>));
  const int beyond = static_cast<int>(reinterpret_cast<size_t>(start) % bytes / sizeof(T));
  const int head = min_of(beyond == 0 ? 0 : COUNT - beyond, count);
  const int packs = (count - head) / COUNT;
  return {head, packs, count - head - packs * COUNT};
}

/// Elements that one of `threads` threads reads on its own, at most; at least 1, since C++ has no empty arrays.
template <int COUNT>
__host__ __device__ constexpr int edges_per_thread(int threads) {
  return COUNT == 1 ? 1 : ceil_div(2 * COUNT - 2, threads);
}

/// COUNT elements from from[index] on, of which any may be unaligned; from itself is aligned and has `count` elements.
template <int COUNT, typename T>
__device__ inline Pack<T, COUNT> load_any_pack(const T* from, int index) {
  if (index % COUNT == 0) return load_pack<COUNT>(from + index);
  Pack<T, COUNT> pack;
#pragma unroll
  for (int v = 0; v < COUNT; ++v) pack.x[v] = from[index + v];
  return pack;
}
