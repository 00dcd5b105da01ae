// Reductions over groups of neighbouring threads of a block, and over the blocks that share a row. What is reduced is a
// summary: a structure whose only member is an array of floats, word, with
//   nothing(): the summary of no elements;
//   merge(other): of the elements of both;
//   reduce<WIDTH>(): of the elements of WIDTH neighbouring lanes, a power of two, in all of them.
#pragma once

#include "portable.cuh"

template <typename Summary>
constexpr int word_count = static_cast<int>(sizeof(Summary) / sizeof(float));

/// The sum over WIDTH neighbouring lanes, in all of them.
template <int WIDTH>
__device__ inline float lane_sum(float value) {
#pragma unroll
  for (int bits = WIDTH / 2; bits > 0; bits /= 2) value += shuffle_xor(value, bits);
  return value;
}

/// The maximum likewise.
template <int WIDTH>
__device__ inline float lane_max(float value) {
#pragma unroll
  for (int bits = WIDTH / 2; bits > 0; bits /= 2) value = fmaxf(value, shuffle_xor(value, bits));
  return value;
}

/// The summary of the elements of each group of WIDTH neighbours, in all of them. WIDTH is a power of two. Every thread
/// of the block, which has GROUPS groups, calls this; between two calls is a barrier.
template <int WIDTH, int GROUPS, typename Summary>
__device__ inline Summary reduce_group(Summary mine) {
  constexpr int lanes = min_of(WIDTH, lane_count), warps = WIDTH / lanes;
  mine.template reduce<lanes>();
  if constexpr (warps > 1) {
    __shared__ float of_warp[GROUPS * warps][word_count<Summary>];
    const int thread = static_cast<int>(threadIdx.x), first = thread / WIDTH * warps;
    if (thread % lane_count == 0) {
#pragma unroll
      for (int w = 0; w < word_count<Summary>; ++w) of_warp[thread / lane_count][w] = mine.word[w];
    }
    __syncthreads();
#pragma unroll
    for (int w = 0; w < word_count<Summary>; ++w) mine.word[w] = of_warp[first + thread % warps][w];
    mine.template reduce<warps>();
  }
  return mine;
}

/// Whether this block is the last of `blocks` to call this. What the others wrote before is visible to it then. count:
/// 0 before the launch.
__device__ inline bool arrives_last(unsigned int* count, int blocks) {
  __shared__ bool is_last;
  __threadfence();  // a block that sees the count also sees what this thread wrote
  __syncthreads();
  if (threadIdx.x == 0) is_last = atomicAdd(count, 1u) == static_cast<unsigned int>(blocks) - 1;
  __syncthreads();
  __threadfence();
  return is_last;
}

/// Number of this block in the order in which the blocks of the grid start. ticket: 0 before the launch.
__device__ inline int order_of_start(unsigned int* ticket) {
  __shared__ unsigned int order;
  if (threadIdx.x == 0) order = atomicAdd(ticket, 1u);
  __syncthreads();
  return static_cast<int>(order);
}

/// The merged summaries of the BLOCKS blocks that share a row, in all of their threads; WIDTH is the size of a block.
/// mine: the same in all threads of the block. slots: word_count zeros for each block.
/// The block waits for the others. They always run or have ended if order_of_start assigns the rows and BLOCKS blocks fit
/// on the device at the same time.
template <int WIDTH, int BLOCKS, typename Summary>
__device__ inline Summary reduce_blocks(const Summary& mine, int block, unsigned long long* slots) {
  static_assert(BLOCKS <= WIDTH, "a thread reads at most one block's summary");
  constexpr int words = word_count<Summary>;
  // A word and its mark are one access: a thread that sees the mark has the word, so no fence is needed.
  constexpr unsigned long long mark = 1ull << 32;
  const int thread = static_cast<int>(threadIdx.x);
  volatile unsigned long long* const shared = slots;
  if (thread == 0) {
#pragma unroll
    for (int w = 0; w < words; ++w) shared[block * words + w] = mark | __float_as_uint(mine.word[w]);
  }
  Summary whole = Summary::nothing();
  if (thread < BLOCKS) {
#pragma unroll
    for (int w = 0; w < words; ++w) {
      unsigned long long slot = 0;
      while (slot < mark) slot = shared[thread * words + w];
      whole.word[w] = __uint_as_float(static_cast<unsigned int>(slot));
    }
  }
  __syncthreads();  // what reduce_group keeps in shared memory is free again
  return reduce_group<WIDTH, 1>(whole);
}
