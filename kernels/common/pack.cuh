// Short vectors of any element type, read and written in one memory access.
#pragma once

#include "portable.cuh"

/// COUNT consecutive elements. In memory it must be aligned to its own size, up to 16 bytes: the compilers then
/// move it in words of that size.
template <typename T, int COUNT>
struct alignas(min_of(static_cast<int>(sizeof(T)) * COUNT, 16)) Pack {
  T x[COUNT];
};

template <int COUNT, typename T>
__device__ inline Pack<T, COUNT> load_pack(const T* from) {
  return *reinterpret_cast<const Pack<T, COUNT>*>(from);
}

template <int COUNT, typename T>
__device__ inline void store_pack(T* to, const Pack<T, COUNT>& pack) {
  *reinterpret_cast<Pack<T, COUNT>*>(to) = pack;
}

/// Whether every row of a row-major matrix with `columns` columns can be read in packs of COUNT: the first element and
/// the row length must both be multiples of a pack. All threads get the same answer.
template <int COUNT, typename T>
__device__ inline bool rows_take_packs(const T* matrix, int columns) {
  return columns % COUNT == 0 && reinterpret_cast<size_t>(matrix) % alignof(Pack<T, COUNT>) == 0;
}

#if ON_NVIDIA
// What __ldcs and __stcs move at once.
template <int BYTES>
struct WordOf;
template <>
struct WordOf<1> {
  using type = unsigned char;
};
template <>
struct WordOf<2> {
  using type = unsigned short;
};
template <>
struct WordOf<4> {
  using type = unsigned int;
};
template <>
struct WordOf<8> {
  using type = uint2;
};
template <>
struct WordOf<16> {
  using type = uint4;
};
#elif ON_AMD
typedef unsigned int FourWords __attribute__((ext_vector_type(4)));
typedef unsigned int TwoWords __attribute__((ext_vector_type(2)));
#endif

/// load_pack of what is read only once: the caches may drop it first.
template <int COUNT, typename T>
__device__ inline Pack<T, COUNT> load_pack_once(const T* from) {
#if ON_NVIDIA
  using Word = typename WordOf<sizeof(T) * COUNT>::type;
  const Word word = __ldcs(reinterpret_cast<const Word*>(from));
  return *reinterpret_cast<const Pack<T, COUNT>*>(&word);
#elif ON_AMD
  if constexpr (sizeof(T) * COUNT == 16) {
    const FourWords words = __builtin_nontemporal_load(reinterpret_cast<const FourWords*>(from));
    return *reinterpret_cast<const Pack<T, COUNT>*>(&words);
  } else if constexpr (sizeof(T) * COUNT == 8) {
    const TwoWords words = __builtin_nontemporal_load(reinterpret_cast<const TwoWords*>(from));
    return *reinterpret_cast<const Pack<T, COUNT>*>(&words);
  } else {
    return load_pack<COUNT>(from);
  }
#else
  return load_pack<COUNT>(from);
#endif
}

/// store_pack of what is not read again soon.
template <int COUNT, typename T>
__device__ inline void store_pack_once(T* to, const Pack<T, COUNT>& pack) {
#if ON_NVIDIA
  using Word = typename WordOf<sizeof(T) * COUNT>::type;
  __stcs(reinterpret_cast<Word*>(to), *reinterpret_cast<const Word*>(&pack));
#elif ON_AMD
  if constexpr (sizeof(T) * COUNT == 16) {
    __builtin_nontemporal_store(*reinterpret_cast<const FourWords*>(&pack), reinterpret_cast<FourWords*>(to));
  } else if constexpr (sizeof(T) * COUNT == 8) {
    __builtin_nontemporal_store(*reinterpret_cast<const TwoWords*>(&pack), reinterpret_cast<TwoWords*>(to));
  } else {
    store_pack<COUNT>(to, pack);
  }
#else
  store_pack<COUNT>(to, pack);
#endif
}
