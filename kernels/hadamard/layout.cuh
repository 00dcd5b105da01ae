// Which element of a chunk a thread holds in which register. A chunk has 2^chunk_bits elements: whole rows of N, one
// after the other. Of the bits of an element's number, some number the register, the others the thread. A layout is the
// set of the first ones, a mask; everything else about it follows, at compile time.
#pragma once

#include "../common/portable.cuh"

__host__ __device__ constexpr int log2_of(int power) { return power <= 1 ? 0 : 1 + log2_of(power / 2); }
__host__ __device__ constexpr unsigned ones(int count) { return (1u << count) - 1; }
__host__ __device__ constexpr int count_of(unsigned mask) { return mask == 0 ? 0 : 1 + count_of(mask & (mask - 1)); }

constexpr int row_bits = log2_of(N), vector_bits = log2_of(VECTOR), item_bits = log2_of(ITEMS);
constexpr int register_bits = vector_bits + item_bits, lane_bits = log2_of(lane_count);
constexpr int chunk_bits = register_bits + log2_of(BLOCK);
static_assert(1 << row_bits == N && 1 << chunk_bits == VECTOR * ITEMS * BLOCK, "sizes are powers of two");
static_assert(chunk_bits >= row_bits && row_bits >= vector_bits, "a block computes whole rows, made of whole packs");

constexpr int registers = VECTOR * ITEMS;
constexpr unsigned row_mask = ones(row_bits), chunk_mask = ones(chunk_bits);

/// The bits of `value`, in their order, at the places that MASK has.
template <unsigned MASK>
__host__ __device__ constexpr unsigned spread(unsigned value) {
  if constexpr (MASK == 0) {
    return 0;
  } else {
    constexpr unsigned first = MASK & (0u - MASK), run = MASK & ~(MASK + first);
    return (value * first & run) | spread<MASK & ~run>(value >> count_of(run));
  }
}

/// The `count` highest bits of a mask; the mask, if it has no more.
__host__ __device__ constexpr unsigned highest(unsigned mask, int count) {
  while (count_of(mask) > count) mask &= mask - 1;
  return mask;
}

// Layouts of packs: a thread has whole packs of VECTOR elements. `near`: as many packs lie between two of a thread's
// items as RUN neighbouring threads have, so that few bits of a row are left to other lanes; `far`: the items have the
// highest bits of a row, so that neighbouring threads have neighbouring packs.
constexpr unsigned items_near = ones(item_bits) << (vector_bits + RUN);
constexpr unsigned items_far = PASSES == 1 ? 0 : ones(item_bits) << (row_bits - item_bits);
constexpr unsigned near = ones(vector_bits) | items_near, far = ones(vector_bits) | items_far;
static_assert(PASSES == 1 || row_bits >= register_bits, "items lie in the row");

// With three passes, the second one has bits that the others leave, whatever they are.
constexpr unsigned left_to_middle = highest(row_mask & ~(near | far), register_bits);
constexpr unsigned middle =
    left_to_middle | highest(chunk_mask & ~left_to_middle, register_bits - count_of(left_to_middle));

__host__ __device__ constexpr unsigned layout_of_pass(int pass) {
  return pass == PASSES - 1 ? near : pass == 0 ? far : middle;
}
static_assert((layout_of_pass(0) & ~chunk_mask) == 0 && (near & ~chunk_mask) == 0, "items lie in the chunk");

/// The bits that number the lane in a layout: the lowest ones that do not number registers.
__host__ __device__ constexpr unsigned lanes_of(unsigned layout) {
  const unsigned threads = chunk_mask & ~layout;
  return threads & ~highest(threads, count_of(threads) - lane_bits);
}

constexpr unsigned transformed_in_registers =
    layout_of_pass(0) | layout_of_pass(PASSES / 2) | layout_of_pass(PASSES - 1);

/// The bits of a row that no pass has in registers, and that the lanes exchange in this pass or an earlier one.
__host__ __device__ constexpr unsigned shuffled_until(int pass) {
  const unsigned before = pass == 0 ? 0 : shuffled_until(pass - 1);
  return before | (row_mask & ~transformed_in_registers & lanes_of(layout_of_pass(pass)));
}
static_assert((row_mask & ~(transformed_in_registers | shuffled_until(PASSES - 1))) == 0, "a bit is left over");

/// The bits that a pass transforms in registers, and those that its lanes exchange.
__host__ __device__ constexpr unsigned bits_in_registers(int pass) {
  unsigned before = 0;
  for (int i = 0; i < pass; ++i) before |= layout_of_pass(i);
  return row_mask & layout_of_pass(pass) & ~before;
}
__host__ __device__ constexpr unsigned bits_in_lanes(int pass) {
  return shuffled_until(pass) & ~(pass == 0 ? 0 : shuffled_until(pass - 1));
}
