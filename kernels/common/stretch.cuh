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

/// The words from the shift-th element of SIZE bytes of `low` on, which `next` follows.
template <int SIZE, int WORDS>
__device__ inline void cut_words(unsigned int (&result)[WORDS], const unsigned int (&low)[WORDS],
                                 const unsigned int (&next)[WORDS], int shift) {
  constexpr int per_word = 4 / SIZE;
  unsigned int word[2 * WORDS];
#pragma unroll
  for (int i = 0; i < WORDS; ++i) {
    word[i] = low[i];
    word[WORDS + i] = next[i];
  }
#pragma unroll
  for (int step = WORDS / 2; step > 0; step /= 2) {
    const bool moves = shift / per_word & step;
#pragma unroll
    for (int i = 0; i < 2 * WORDS - step; ++i) {
      const unsigned int here = word[i], there = word[i + step];
      word[i] = moves ? there : here;
    }
  }
#pragma unroll
  for (int i = 0; i < WORDS; ++i) {
    const int bits = shift % per_word * 8 * SIZE;
    const unsigned int here = word[i], there = word[i + 1];
    result[i] = per_word > 1 ? funnel_right(here, there, bits) : here;
  }
}

/// COUNT elements from the shift-th of `low` on, which `next` follows.
template <int COUNT, typename T>
__device__ inline Pack<T, COUNT> cut_pack(const Pack<T, COUNT>& low, const Pack<T, COUNT>& next, int shift) {
  constexpr int size = static_cast<int>(sizeof(T)), words = ceil_div(size * COUNT, 4);
  Pack<T, COUNT> pack;
  if constexpr (size * COUNT % 4 == 0) {
    unsigned int low_words[words], next_words[words], result[words];
    memcpy(low_words, &low, sizeof low);
    memcpy(next_words, &next, sizeof next);
    cut_words<size>(result, low_words, next_words, shift);
    memcpy(&pack, result, sizeof pack);
  } else {
    unsigned int both = 0;
    memcpy(&both, &low, sizeof low);
    memcpy(reinterpret_cast<char*>(&both) + sizeof low, &next, sizeof next);
    both >>= shift * 8 * size;
    memcpy(&pack, &both, sizeof pack);
  }
  return pack;
}
