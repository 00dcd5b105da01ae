// Consecutive elements as words of 4 bytes, which are converted where they are used: compilers give each element of 2
// bytes that is kept as such a whole register.
#pragma once

#include "element.cuh"
#include "stretch.cuh"

/// The elements of type T in a word, the first one in the lowest bits.
template <typename T>
struct Word {
  static constexpr int elements = 2;

  __device__ static float at(unsigned int word, int index) {
    const unsigned short bits = static_cast<unsigned short>(word >> 16 * index);
    T element;
    memcpy(&element, &bits, sizeof element);
    return to_float(element);
  }
  __device__ static unsigned int of(float a, float b) {
    T both[2];
    set_pair(both[0], both[1], a, b);
    unsigned int word;
    memcpy(&word, both, sizeof word);
    return word;
  }
  /// The larger one of each pair. Of a number and NaN, it is the number.
  __device__ static unsigned int larger(unsigned int a, unsigned int b) {
    return of(fmaxf(at(a, 0), at(b, 0)), fmaxf(at(a, 1), at(b, 1)));
  }
};

template <>
struct Word<float> {
  static constexpr int elements = 1;

  __device__ static float at(unsigned int word, int) { return __uint_as_float(word); }
  __device__ static unsigned int of(float a, float) { return __float_as_uint(a); }
  __device__ static unsigned int larger(unsigned int a, unsigned int b) {
    return __float_as_uint(fmaxf(__uint_as_float(a), __uint_as_float(b)));
  }
};

#if ON_NVIDIA
/// Words whose two elements CUDA has as one type, Both.
template <typename Both>
struct PairWord {
  static constexpr int elements = 2;

  __device__ static Both pair(unsigned int word) {
    Both both;
    memcpy(&both, &word, sizeof both);
    return both;
  }
  __device__ static unsigned int word(Both both) {
    unsigned int bits;
    memcpy(&bits, &both, sizeof bits);
    return bits;
  }
  __device__ static unsigned int larger(unsigned int a, unsigned int b) { return word(__hmax2(pair(a), pair(b))); }
};

template <>
struct Word<element::f16> : PairWord<__half2> {
  __device__ static float at(unsigned int word, int index) {
    return index == 0 ? __low2float(pair(word)) : __high2float(pair(word));
  }
  __device__ static unsigned int of(float a, float b) { return word(__floats2half2_rn(a, b)); }
};

template <>
struct Word<element::bf16> : PairWord<__nv_bfloat162> {
  __device__ static float at(unsigned int word, int index) {
    return __uint_as_float(index == 0 ? word << 16 : word & 0xffff0000u);
  }
  __device__ static unsigned int of(float a, float b) { return word(__floats2bfloat162_rn(a, b)); }
};
#endif

/// COUNT consecutive elements. In memory, aligned as Pack<Element, COUNT>.
template <int COUNT>
struct Words {
  static constexpr int per_word = Word<Element>::elements, count = ceil_div(COUNT, per_word);
  static constexpr int bytes = COUNT * static_cast<int>(sizeof(Element));
  unsigned int word[count];

  __device__ static Words load(const Element* from) {
    Words words;
    if constexpr (bytes < 4) {
      words.word[0] = *reinterpret_cast<const unsigned short*>(from);
    } else {
      const auto pack = load_pack<count>(reinterpret_cast<const unsigned int*>(from));
      memcpy(words.word, pack.x, sizeof words.word);
    }
    return words;
  }
  __device__ static Words of(const Pack<Element, COUNT>& pack) {
    Words words = {};
    memcpy(words.word, &pack, bytes);
    return words;
  }
  __device__ static Words of(const float (&x)[COUNT]) {
    Words words;
#pragma unroll
    for (int i = 0; i < count; ++i) {
      words.word[i] = Word<Element>::of(x[i * per_word], x[min_of(i * per_word + 1, COUNT - 1)]);
    }
    return words;
  }

  __device__ float at(int index) const { return Word<Element>::at(word[index / per_word], index % per_word); }
  /// The elements as they are stored.
  __device__ Pack<Element, COUNT> pack() const {
    Pack<Element, COUNT> elements;
    memcpy(&elements, word, bytes);
    return elements;
  }
  /// to: aligned.
  __device__ void store(Element* to) const {
    if constexpr (bytes < 4) {
      *to = pack().x[0];
    } else {
      Pack<unsigned int, count> words;
      memcpy(words.x, word, sizeof word);
      store_pack<count>(reinterpret_cast<unsigned int*>(to), words);
    }
  }
  /// Each element becomes the larger one of itself and the other's.
  __device__ void raise(const Words& other) {
#pragma unroll
    for (int i = 0; i < count; ++i) word[i] = Word<Element>::larger(word[i], other.word[i]);
  }
};

/// COUNT elements from any index on, cut from two aligned packs. The first is fetched early, so that several are on
/// their way at once; the second is then most likely in the cache, as a neighbour's first.
template <int COUNT>
struct AnyWords {
  Words<COUNT> low;

  __device__ static int shift_of(int index) { return static_cast<int>(static_cast<unsigned int>(index) % COUNT); }
  /// from: aligned.
  __device__ void fetch(const Element* from, int index) { low = Words<COUNT>::load(from + (index - shift_of(index))); }
  /// The arguments as for fetch; from has `length` elements.
  __device__ Words<COUNT> cut(const Element* from, int index, int length) const {
    const int shift = shift_of(index), next = index - shift + COUNT;
    if (COUNT == 1 || shift == 0) return low;
    if (next + COUNT <= length) {
      const Words<COUNT> high = Words<COUNT>::load(from + next);
      Words<COUNT> result;
      cut_words<static_cast<int>(sizeof(Element))>(result.word, low.word, high.word, shift);
      return result;
    }
    Pack<Element, COUNT> pack = low.pack();
#pragma unroll
    for (int v = 0; v < COUNT; ++v) pack.x[v] = from[index + v];
    return Words<COUNT>::of(pack);
  }
};
