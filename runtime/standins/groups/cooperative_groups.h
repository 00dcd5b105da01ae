// For AMD GPUs and the CPU: what CUDA's cooperative groups have for grids, blocks and parts of a warp.
#pragma once

#ifndef XTUNE_HOST
extern "C" __device__ void __ockl_grid_sync();  // of ROCm's device libraries
#endif

// hipRTC since 5.7 has HIP's groups before every source. They lack much of CUDA's, so the source means those below.
#ifdef HIP_INCLUDE_HIP_AMD_DETAIL_HIP_COOPERATIVE_GROUPS_H
#define cooperative_groups xtune_cooperative_groups
#endif

namespace cooperative_groups {

/// All threads of a block.
class thread_block {
 public:
  __device__ static void sync() { __syncthreads(); }
  __device__ static unsigned thread_rank() {
    return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  }
  __device__ static unsigned size() { return blockDim.x * blockDim.y * blockDim.z; }
  __device__ static unsigned num_threads() { return size(); }
  __device__ static dim3 group_index() { return dim3(blockIdx.x, blockIdx.y, blockIdx.z); }
  __device__ static dim3 thread_index() { return dim3(threadIdx.x, threadIdx.y, threadIdx.z); }
  __device__ static dim3 group_dim() { return dim3(blockDim.x, blockDim.y, blockDim.z); }
  __device__ static dim3 dim_threads() { return group_dim(); }
};
__device__ inline thread_block this_thread_block() { return {}; }

/// All threads of a launch whose blocks are resident at once ([launch] cooperative = true).
class grid_group {
 public:
  __device__ static void sync() {
#ifdef XTUNE_HOST
    xtune_sync_grid();
#else
    __ockl_grid_sync();
#endif
  }
  __device__ static dim3 group_dim() { return dim3(gridDim.x, gridDim.y, gridDim.z); }
  __device__ static dim3 dim_blocks() { return group_dim(); }
  __device__ static dim3 block_index() { return dim3(blockIdx.x, blockIdx.y, blockIdx.z); }
  __device__ static dim3 thread_index() { return thread_block::thread_index(); }
  __device__ static unsigned long long num_blocks() { return 1ull * gridDim.x * gridDim.y * gridDim.z; }
  __device__ static unsigned long long block_rank() {
    return (1ull * blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  }
  __device__ static unsigned long long num_threads() { return num_blocks() * thread_block::size(); }
  __device__ static unsigned long long size() { return num_threads(); }
  __device__ static unsigned long long thread_rank() {
    return block_rank() * thread_block::size() + thread_block::thread_rank();
  }
};
__device__ inline grid_group this_grid() { return {}; }

/// SIZE neighbouring threads of a block, a power of two up to 32.
template <unsigned SIZE, class Parent = void>
class thread_block_tile {
  unsigned meta_group_rank_, meta_group_size_;
  static_assert(SIZE >= 1 && SIZE <= 32 && (SIZE & (SIZE - 1)) == 0, "tiles have 1, 2, 4, 8, 16 or 32 threads here");
  __device__ static unsigned first() { return thread_block::thread_rank() % 32 / SIZE * SIZE; }
  __device__ static unsigned mask() { return (SIZE == 32 ? 0xffffffffu : (1u << SIZE % 32) - 1) << first(); }

 public:
  /// This thread's tile of those that a group is divided into: its number, and how many there are.
  __device__ thread_block_tile(unsigned meta_group_rank, unsigned meta_group_size)
      : meta_group_rank_(meta_group_rank), meta_group_size_(meta_group_size) {}
  /// Of the same size: a name of a tile's type may omit the group that it is a part of.
  template <class Other>
  __device__ thread_block_tile(const thread_block_tile<SIZE, Other>& tile)
      : meta_group_rank_(tile.meta_group_rank()), meta_group_size_(tile.meta_group_size()) {}
  __device__ static void sync() { __syncwarp(mask()); }
  __device__ static unsigned thread_rank() { return thread_block::thread_rank() % SIZE; }
  __device__ static constexpr unsigned size() { return SIZE; }
  __device__ static constexpr unsigned num_threads() { return SIZE; }
  __device__ unsigned meta_group_rank() const { return meta_group_rank_; }
  __device__ unsigned meta_group_size() const { return meta_group_size_; }
  template <class T>
  __device__ T shfl(T value, int lane) const {
    return __shfl_sync(mask(), value, lane, static_cast<int>(SIZE));
  }
  template <class T>
  __device__ T shfl_up(T value, unsigned lanes) const {
    return __shfl_up_sync(mask(), value, lanes, static_cast<int>(SIZE));
  }
  template <class T>
  __device__ T shfl_down(T value, unsigned lanes) const {
    return __shfl_down_sync(mask(), value, lanes, static_cast<int>(SIZE));
  }
  template <class T>
  __device__ T shfl_xor(T value, int bits) const {
    return __shfl_xor_sync(mask(), value, bits, static_cast<int>(SIZE));
  }
  __device__ int any(int predicate) const { return __any_sync(mask(), predicate); }
  __device__ int all(int predicate) const { return __all_sync(mask(), predicate); }
  __device__ unsigned ballot(int predicate) const { return __ballot_sync(mask(), predicate) >> first(); }
};

template <unsigned SIZE, class Parent>
__device__ inline thread_block_tile<SIZE, Parent> tiled_partition(const Parent& group) {
  return {group.thread_rank() / SIZE, (group.size() + SIZE - 1) / SIZE};
}
template <class Group>
__device__ inline void sync(const Group& group) {
  group.sync();
}

}  // namespace cooperative_groups
