// The transform of a chunk that a block has in registers: sums and differences in registers, between lanes, and moving
// elements to other threads through shared memory.
#pragma once

#include "../common/pack.cuh"
#include "layout.cuh"

/// Replaces each two elements whose numbers differ in one of BITS by their sum and their difference. BITS number
/// registers in LAYOUT.
template <unsigned LAYOUT, unsigned BITS>
__device__ inline void transform_registers(float (&x)[registers]) {
#pragma unroll
  for (int j = 0; j < register_bits; ++j) {
    if ((spread<LAYOUT>(1u << j) & BITS) == 0) continue;
#pragma unroll
    for (int r = 0; r < registers; ++r) {
      if (r >> j & 1) continue;
      const float a = x[r], b = x[r | 1 << j];
      x[r] = a + b;
      x[r | 1 << j] = a - b;
    }
  }
}

/// The same for bits that number lanes.
template <unsigned LAYOUT, unsigned BITS>
__device__ inline void transform_lanes(float (&x)[registers]) {
#pragma unroll
  for (int j = 0; j < lane_bits; ++j) {
    if ((spread<chunk_mask & ~LAYOUT>(1u << j) & BITS) == 0) continue;
    const float sign = threadIdx.x >> j & 1 ? -1.0f : 1.0f;
#pragma unroll
    for (int r = 0; r < registers; ++r) x[r] = fmaf(sign, x[r], shuffle_xor(x[r], 1 << j));
  }
}

/// Where an element lies in shared memory, as the exclusive or of a word for each bit of its number: the bits from 5 on
/// also change which of eight 16-byte parts of a row of banks it is, so that no accesses of the layouts meet in a bank.
__host__ __device__ constexpr unsigned place_of(unsigned number) {
  constexpr unsigned part_of_bit[] = {7, 5, 6, 5, 7, 7, 7, 6, 3, 1, 2};
  unsigned place = number;
  for (int bit = 5; bit < 16; ++bit) place ^= number >> bit & 1 ? part_of_bit[bit - 5] << 2 : 0;
  return place;
}

/// As place_of(spread<MASK>(thread)).
template <unsigned MASK>
__device__ inline unsigned place_of_thread(unsigned thread) {
  unsigned place = 0;
#pragma unroll
  for (int j = 0; j < count_of(MASK); ++j) place ^= thread >> j & 1 ? place_of(spread<MASK>(1u << j)) : 0;
  return place;
}

/// What is left of a mask or a number if this bit is removed, and a number with the bit again.
__host__ __device__ constexpr unsigned without_bit(unsigned mask, int bit) {
  return (mask & ones(bit)) | (mask >> (bit + 1) << bit);
}
__host__ __device__ constexpr int with_bit(int number, int bit, int value) {
  return (number & static_cast<int>(ones(bit))) | value << bit | number >> bit << (bit + 1);
}

// Elements are moved in ROUNDS halves, so that shared memory holds one of them. The halves differ in the highest bit
// within a pack, which numbers registers before and after.
constexpr int half_bit = vector_bits - 1;
constexpr int moved = registers / ROUNDS;
static_assert(ROUNDS == 1 || (ROUNDS == 2 && PASSES == 2 && vector_bits > 0), "packs stay packs only in two passes");

/// Words that a layout has side by side, and that are accessed at once.
__host__ __device__ constexpr int width_of(unsigned layout) { return layout & 1 ? layout & 2 ? 4 : 2 : 1; }

/// The function takes the place in shared memory and the number of the first of `width` registers.
template <unsigned LAYOUT, int ROUND, typename Function>
__device__ inline void for_each_place(const Function& function) {
  constexpr unsigned layout = ROUNDS == 2 ? without_bit(LAYOUT, half_bit) : LAYOUT;
  constexpr unsigned chunk = ROUNDS == 2 ? chunk_mask >> 1 : chunk_mask;
  const unsigned of_thread = place_of_thread<chunk & ~layout>(threadIdx.x);
#pragma unroll
  for (int r = 0; r < moved; r += width_of(layout)) {
    const unsigned of_register = place_of(spread<layout>(r));
    // The upper bits of the two do not overlap: adding them makes them constants of the instruction.
    const unsigned place = (of_thread ^ (of_register & 31u)) + (of_register & ~31u);
    function(place, ROUNDS == 2 ? with_bit(r, half_bit, ROUND) : r);
  }
}

template <unsigned FROM, unsigned TO, int ROUND>
__device__ inline void move_part(float* shared, float (&x)[registers]) {
  constexpr int write = width_of(ROUNDS == 2 ? without_bit(FROM, half_bit) : FROM);
  constexpr int read = width_of(ROUNDS == 2 ? without_bit(TO, half_bit) : TO);
  __syncthreads();  // the memory is free again
  for_each_place<FROM, ROUND>([&](unsigned place, int r) {
    Pack<float, write> pack;
#pragma unroll
    for (int i = 0; i < write; ++i) pack.x[i] = x[r + i];
    store_pack<write>(shared + place, pack);
  });
  __syncthreads();
  for_each_place<TO, ROUND>([&](unsigned place, int r) {
    const Pack<float, read> pack = load_pack<read>(shared + place);
#pragma unroll
    for (int i = 0; i < read; ++i) x[r + i] = pack.x[i];
  });
}

/// Gives each element to the thread that has it in layout TO. shared: room for the chunk, or half of it.
template <unsigned FROM, unsigned TO>
__device__ inline void move(float* shared, float (&x)[registers]) {
  move_part<FROM, TO, 0>(shared, x);
  if constexpr (ROUNDS == 2) move_part<FROM, TO, 1>(shared, x);
}

/// x: in the layout of PASS; afterwards in that of the last pass.
template <int PASS = 0>
__device__ inline void transform(float* shared, float (&x)[registers]) {
  constexpr unsigned layout = layout_of_pass(PASS);
  transform_registers<layout, bits_in_registers(PASS)>(x);
  transform_lanes<layout, bits_in_lanes(PASS)>(x);
  if constexpr (PASS + 1 < PASSES) {
    move<layout, layout_of_pass(PASS + 1)>(shared, x);
    transform<PASS + 1>(shared, x);
  }
}
