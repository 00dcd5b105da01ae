// Instructions that move data between lanes, or between vector, accumulation and scalar registers.
#include <bit>
#include <utility>

#include "emulator/lanes.hpp"
#include "emulator/operations.hpp"

namespace xtune::emulator {
namespace {

U word_of(const Wave& wave, const Operand& from, int lane) {
  return from.kind == OperandKind::vector ? wave.row(from.index)[lane] : scalar_source<U>(wave, from);
}

/// The lane of a readlane or writelane, modulo the size of the wave.
int chosen_lane(const Wave& wave, const Operand& from) {
  return static_cast<int>(scalar_source<U>(wave, from)) & (wave.lanes - 1);
}

void v_readlane(Wave& wave, const Instruction& in) {
  write_scalar(wave, in.operand[0], word_of(wave, in.operand[1], chosen_lane(wave, in.operand[2])));
}
void v_readfirstlane(Wave& wave, const Instruction& in) {
  const std::uint64_t exec = wave.exec();
  write_scalar(wave, in.operand[0], word_of(wave, in.operand[1], exec == 0 ? 0 : std::countr_zero(exec)));
}
void v_writelane(Wave& wave, const Instruction& in) {
  wave.row(in.operand[0].index)[chosen_lane(wave, in.operand[2])] = scalar_source<U>(wave, in.operand[1]);
}

template <bool High>
void v_mbcnt(Wave& wave, const Instruction& in) {
  Lanes<U> mask, base;
  fetch(wave, in, in.operand[1], 0, mask);
  fetch(wave, in, in.operand[2], 1, base);
  for (int lane = 0; lane < 64; ++lane) {
    const int below = High ? lane - 32 : lane;
    const U lanes = below <= 0 ? 0 : below >= 32 ? ~0u : (1u << below) - 1;
    base.value[lane] += static_cast<U>(std::popcount(mask.value[lane] & lanes));
  }
  write(wave, in, in.operand[0], base);
}

void v_swap_b32(Wave& wave, const Instruction& in) {
  const std::uint64_t exec = wave.exec();
  U *a = wave.row(in.operand[0].index), *b = wave.row(in.operand[1].index);
  for (int lane = 0; lane < 64; ++lane)
    if (exec >> lane & 1) std::swap(a[lane], b[lane]);
}

/// Each lane of a row of 16 takes the lane that 4 bits of the selectors name, in its row or, crossed, in the other row
/// of the two.
template <bool Crossed, bool OfLanes>
void v_permlane16(Wave& wave, const Instruction& in) {
  // The selectors of all lanes of a row, or one of each lane.
  Lanes<U> of_lane{};
  std::uint64_t of_row = 0;
  if constexpr (OfLanes)
    fetch(wave, Instruction(), in.operand[2], 1, of_lane);
  else
    of_row = scalar_source<U>(wave, in.operand[2]) | std::uint64_t{scalar_source<U>(wave, in.operand[3])} << 32;
  const std::uint64_t exec = wave.exec();
  Lanes<U> source;
  Instruction plain;
  fetch(wave, plain, in.operand[1], 0, source);
  U* const to = wave.row(in.operand[0].index);
  const bool fetch_inactive = in.modifiers.op_sel & 1, zero_inactive = in.modifiers.op_sel & 2;
  for (int lane = 0; lane < wave.lanes; ++lane) {
    const int place =
        OfLanes ? static_cast<int>(of_lane.value[lane] & 15) : static_cast<int>(of_row >> (4 * (lane & 15)) & 15);
    const int from = ((lane & ~15) ^ (Crossed ? 16 : 0)) | place;
    if (!(exec >> lane & 1)) continue;
    if (fetch_inactive || (exec >> from & 1))
      to[lane] = source.value[from];
    else if (zero_inactive)
      to[lane] = 0;
  }
}

void v_permlane64(Wave& wave, const Instruction& in) {
  Lanes<U> source, result;
  fetch(wave, in, in.operand[1], 0, source);
  for (int lane = 0; lane < 64; ++lane) result.value[lane] = source.value[wave.lanes == 64 ? lane ^ 32 : lane];
  write(wave, in, in.operand[0], result);
}

constexpr Operation lane_table[] = {
    {"v_readlane_b32", v_readlane},
    {"v_readfirstlane_b32", v_readfirstlane},
    {"v_writelane_b32", v_writelane},
    {"v_mbcnt_lo_u32_b32", v_mbcnt<false>},
    {"v_mbcnt_hi_u32_b32", v_mbcnt<true>},
    {"v_swap_b32", v_swap_b32},
    {"v_permlane16_b32", v_permlane16<false, false>},
    {"v_permlanex16_b32", v_permlane16<true, false>},
    {"v_permlane16_var_b32", v_permlane16<false, true>},
    {"v_permlanex16_var_b32", v_permlane16<true, true>},
    {"v_permlane64_b32", v_permlane64},
    {"v_accvgpr_read_b32 v_accvgpr_write_b32 v_accvgpr_mov_b32", each_lane<[](U a) { return a; }>},
};

}  // namespace

const OperationTable lane_operations{Kind::vector, lane_table};

}  // namespace xtune::emulator
