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
