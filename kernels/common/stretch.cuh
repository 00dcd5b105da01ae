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

/// COUNT elements from the shift-th of `low` on, which `next` follows.
template <int COUNT, typename T>
__device__ inline Pack<T, COUNT> cut_pack(const Pack<T, COUNT>& low, const Pack<T, COUNT>& next, int shift) {
  constexpr int size = static_cast<int>(sizeof(T)), per_word = 4 / size, words = ceil_div(size * COUNT, 4);
  unsigned int word[2 * words] = {};
  memcpy(word, &low, sizeof low);
  memcpy(reinterpret_cast<char*>(word) + sizeof low, &next, sizeof next);
#pragma unroll
  for (int step = words / 2; step > 0; step /= 2) {
    const bool moves = shift / per_word & step;
#pragma unroll
    for (int i = 0; i < 2 * words - step; ++i) {
      const unsigned int here = word[i], there = word[i + step];
      word[i] = moves ? there : here;
    }
  }
  if constexpr (per_word > 1) {
    const int bits = shift % per_word * 8 * size;
#pragma unroll
    for (int i = 0; i < 2 * words - 1; ++i) {
      const unsigned int here = word[i], there = word[i + 1];
      word[i] = funnel_right(here, there, bits);
    }
  }
  Pack<T, COUNT> pack;
  memcpy(&pack, word, sizeof pack);
  return pack;
}

/// COUNT elements from any index on, cut from two aligned packs. The first is fetched early, so that several are on
/// their way at once; the second is then most likely in the cache, as a neighbour's first.
template <int COUNT, typename T>
struct AnyPack {
  Pack<T, COUNT> low;

  /// from: aligned.
  __device__ void fetch(const T* from, int index) { low = load_pack<COUNT>(from + (index - index % COUNT)); }
  /// The arguments as for fetch; from has `length` elements.
  __device__ Pack<T, COUNT> cut(const T* from, int index, int length) const {
    const int shift = index % COUNT, next = index - shift + COUNT;
    if (COUNT == 1 || shift == 0) return low;
    if (next + COUNT <= length) return cut_pack<COUNT>(low, load_pack<COUNT>(from + next), shift);
    Pack<T, COUNT> pack = low;
#pragma unroll
    for (int v = 0; v < COUNT; ++v) pack.x[v] = from[index + v];
    return pack;
  }
};
