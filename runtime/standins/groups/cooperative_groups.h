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
/// CUDA's older GPUs need memory for tiles of several warps; here they have their own.
template <unsigned THREADS = 1024>
struct block_tile_memory {};
template <unsigned THREADS>
__device__ inline thread_block this_thread_block(block_tile_memory<THREADS>&) {
  return {};
}

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
  static_assert(SIZE >= 1 && SIZE <= 32 && (SIZE & (SIZE - 1)) == 0, "tiles have a power of two of threads");
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

/// Tiles of several warps of 32 threads, which wait for each other in shared memory: arrivals of warps are counted, and
/// the values that warps exchange have 16 bytes each. Only atomic accesses, since no barrier of the block orders
/// others. The counts of each SIZE are their own, so that tiles of several sizes can exist at once.
template <unsigned SIZE>
struct WarpsTogether {
  static constexpr unsigned warps = SIZE / 32;
  struct Shared {
    unsigned arrived[1024 / SIZE];
    unsigned values[32][4];
  };
  __device__ static Shared& shared() {
    __shared__ Shared memory;
    return memory;
  }
  __device__ static unsigned value_of(unsigned* place) { return atomicCAS(place, 0xffffffffu, 0xffffffffu); }
  /// Called by all threads of the block.
  __device__ static void begin() {
    __syncthreads();
    const unsigned rank = thread_block::thread_rank();
    if (rank < 1024 / SIZE) shared().arrived[rank] = 0;
    for (unsigned part = 0; rank < 32 && part < 4; ++part) shared().values[rank][part] = 0;
    __syncthreads();
  }
  __device__ static void sync() {
    __threadfence_block();
    __syncwarp(0xffffffffu);
    if (thread_block::thread_rank() % 32 == 0) {
      unsigned* const arrived = &shared().arrived[thread_block::thread_rank() / SIZE];
      const unsigned last = atomicAdd(arrived, 1u) / warps * warps + warps;
      while (static_cast<int>(value_of(arrived) - last) < 0) __nanosleep(20);
    }
    __syncwarp(0xffffffffu);
    __threadfence_block();
  }
  /// Gives change(sum, value) the value of each warp of the tile, in their order.
  template <class T, class Change>
  __device__ static T of_warps(T value, Change change) {
    static_assert(sizeof(T) <= 16, "warps exchange values of at most 16 bytes");
    auto& values = shared().values;
    const unsigned warp = thread_block::thread_rank() / 32, first = thread_block::thread_rank() / SIZE * warps;
    sync();  // the values of the call before were read
    constexpr unsigned words = (sizeof(T) + 3) / 4;
    unsigned parts[words] = {};
    __builtin_memcpy(parts, &value, sizeof value);
    if (thread_block::thread_rank() % 32 == 0)
      for (unsigned part = 0; part < words; ++part) atomicExch(&values[warp][part], parts[part]);
    sync();
    T result = value;
    for (unsigned i = 0; i < warps; ++i) {
      for (unsigned part = 0; part < words; ++part) parts[part] = value_of(&values[first + i][part]);
      T other = value;
      __builtin_memcpy(&other, parts, sizeof other);
      result = i == 0 ? other : change(result, other);
    }
    return result;
  }
};

/// A tile of several warps.
template <unsigned SIZE, class Parent>
class large_tile {
  unsigned meta_group_rank_, meta_group_size_;
  static_assert(SIZE <= 1024 && (SIZE & (SIZE - 1)) == 0, "tiles have up to 1024 threads, a power of two");

 public:
  __device__ large_tile(unsigned meta_group_rank, unsigned meta_group_size)
      : meta_group_rank_(meta_group_rank), meta_group_size_(meta_group_size) {}
  template <class Other>
  __device__ large_tile(const large_tile<SIZE, Other>& tile)
      : meta_group_rank_(tile.meta_group_rank()), meta_group_size_(tile.meta_group_size()) {}
  __device__ static void sync() { WarpsTogether<SIZE>::sync(); }
  __device__ static unsigned thread_rank() { return thread_block::thread_rank() % SIZE; }
  __device__ static constexpr unsigned size() { return SIZE; }
  __device__ static constexpr unsigned num_threads() { return SIZE; }
  __device__ unsigned meta_group_rank() const { return meta_group_rank_; }
  __device__ unsigned meta_group_size() const { return meta_group_size_; }
  __device__ int any(int predicate) const {
    return WarpsTogether<SIZE>::of_warps(__any_sync(0xffffffffu, predicate) != 0 ? 1 : 0,
                                         [](int a, int b) { return a | b; });
  }
  __device__ int all(int predicate) const { return !any(!predicate); }
};
template <class Parent>
class thread_block_tile<64, Parent> : public large_tile<64, Parent> {
 public:
  using large_tile<64, Parent>::large_tile;
};
template <class Parent>
class thread_block_tile<128, Parent> : public large_tile<128, Parent> {
 public:
  using large_tile<128, Parent>::large_tile;
};
template <class Parent>
class thread_block_tile<256, Parent> : public large_tile<256, Parent> {
 public:
  using large_tile<256, Parent>::large_tile;
};
template <class Parent>
class thread_block_tile<512, Parent> : public large_tile<512, Parent> {
 public:
  using large_tile<512, Parent>::large_tile;
};
template <class Parent>
class thread_block_tile<1024, Parent> : public large_tile<1024, Parent> {
 public:
  using large_tile<1024, Parent>::large_tile;
};

template <unsigned SIZE, class Parent>
__device__ inline thread_block_tile<SIZE, Parent> tiled_partition(const Parent& group) {
  if constexpr (SIZE > 32) WarpsTogether<SIZE>::begin();
  return {group.thread_rank() / SIZE, (group.size() + SIZE - 1) / SIZE};
}
template <class Group>
__device__ inline void sync(const Group& group) {
  group.sync();
}

}  // namespace cooperative_groups
