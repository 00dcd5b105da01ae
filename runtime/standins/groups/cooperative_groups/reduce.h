// For AMD GPUs and the CPU: cooperative_groups::reduce for tiles of a block.
#pragma once
#include <cooperative_groups.h>

namespace cooperative_groups {

template <class T>
struct plus {
  __device__ T operator()(T a, T b) const { return a + b; }
};
template <class T>
struct less {
  __device__ T operator()(T a, T b) const { return b < a ? b : a; }
};
template <class T>
struct greater {
  __device__ T operator()(T a, T b) const { return a < b ? b : a; }
};
template <class T>
struct bit_and {
  __device__ T operator()(T a, T b) const { return a & b; }
};
template <class T>
struct bit_or {
  __device__ T operator()(T a, T b) const { return a | b; }
};
template <class T>
struct bit_xor {
  __device__ T operator()(T a, T b) const { return a ^ b; }
};

/// The combined values of all threads of the tile, for each of them.
template <unsigned SIZE, class Parent, class T, class Combine>
__device__ inline T reduce(const thread_block_tile<SIZE, Parent>& tile, T value, Combine combine) {
  if constexpr (SIZE > 32) {
    for (int bits = 16; bits > 0; bits /= 2) value = combine(value, __shfl_xor_sync(0xffffffffu, value, bits));
    return WarpsTogether<SIZE>::of_warps(value, combine);
  } else {
    for (int bits = SIZE / 2; bits > 0; bits /= 2) value = combine(value, tile.shfl_xor(value, bits));
    return value;
  }
}

}  // namespace cooperative_groups
