// Stores of data that the kernel does not read again: the caches may drop it first.
#pragma once

#include "pack.cuh"

#if ON_NVIDIA
namespace streaming {
template <int BYTES>
struct Word;
template <>
struct Word<4> {
  using Type = unsigned int;
};
template <>
struct Word<8> {
  using Type = uint2;
};
template <>
struct Word<16> {
  using Type = uint4;
};
}  // namespace streaming
#endif

/// As store_pack(), with the hint. For packs of 4, 8 or 16 bytes.
template <int COUNT, typename T>
__device__ inline void stream_pack(T* to, const Pack<T, COUNT>& pack) {
#if ON_NVIDIA
  using Word = typename streaming::Word<static_cast<int>(sizeof(pack))>::Type;
  __stcs(reinterpret_cast<Word*>(to), *reinterpret_cast<const Word*>(&pack));
#elif ON_AMD
  typedef unsigned int Words __attribute__((ext_vector_type(sizeof(pack) / 4)));
  __builtin_nontemporal_store(*reinterpret_cast<const Words*>(&pack), reinterpret_cast<Words*>(to));
#else
  store_pack<COUNT>(to, pack);
#endif
}
