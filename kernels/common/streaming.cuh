// Stores of data that the kernel does not read again: they leave the cache to what it does read.
#pragma once

#include "pack.cuh"

#if ON_NVIDIA
namespace streaming {
template <int BYTES>
struct Word;
template <>
struct Word<1> { using Type = unsigned char; };
template <>
struct Word<2> { using Type = unsigned short; };
template <>
struct Word<4> { using Type = unsigned int; };
template <>
struct Word<8> { using Type = uint2; };
template <>
struct Word<16> { using Type = uint4; };
}  // namespace streaming
#endif

/// As store_pack(), and if HINT is true with the hint that the data is not needed again soon.
template <bool HINT, int COUNT, typename T>
__device__ inline void store_pack_once(T* to, const Pack<T, COUNT>& pack) {
#if ON_NVIDIA
  if constexpr (HINT) {
    using Word = typename streaming::Word<alignof(Pack<T, COUNT>)>::Type;
    constexpr int words = static_cast<int>(sizeof(pack) / sizeof(Word));
#pragma unroll
    for (int i = 0; i < words; ++i) {
      __stcs(reinterpret_cast<Word*>(to) + i, *(reinterpret_cast<const Word*>(pack.x) + i));
    }
    return;
  }
#elif ON_AMD
  if constexpr (HINT) {
#pragma unroll
    for (int i = 0; i < COUNT; ++i) __builtin_nontemporal_store(pack.x[i], to + i);
    return;
  }
#endif
  store_pack<COUNT>(to, pack);
}
