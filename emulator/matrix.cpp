// Matrix instructions: v_mfma of CDNA, v_wmma of RDNA.
#include <fmt/format.h>

#include <array>
#include <bit>
#include <cmath>
#include <utility>

#include "emulator/lanes.hpp"
#include "emulator/operations.hpp"

namespace xtune::emulator {
namespace {

struct Bf16 {
  std::uint16_t bits;
};
/// AMD's names: fp8 has 3 bits of mantissa, bf8 has 2.
struct Fp8 {
  std::uint8_t bits;
  static constexpr int mantissa = 3;
};
struct Bf8 {
  std::uint8_t bits;
  static constexpr int mantissa = 2;
};

float real_from(std::uint16_t bits, bool is_bf16) {
  return is_bf16 ? from_bf16(bits) : static_cast<float>(to_double(Half{bits}));
}

/// Elements of an operand of a lane, which begins at a vector register. is_signed: of integers.
template <class T>
auto element_of(const Wave& wave, int first, int lane, int place, bool is_signed) {
  if constexpr (sizeof(T) >= 4) {
    return value_in<T>(wave, first + place, lane);
  } else {
    const U word = wave.row(first + place * static_cast<int>(sizeof(T)) / 4)[lane];
    const auto byte = static_cast<U8>(word >> (place % 4 * 8));
    if constexpr (std::is_same_v<T, I8>) {
      return is_signed ? static_cast<I8>(byte) : static_cast<int>(byte);
    } else if constexpr (sizeof(T) == 1) {
      return from_f8(byte, T::mantissa, wave.generation == Generation::cdna3);
    } else {
      constexpr bool is_bf16 = std::is_same_v<T, Bf16>;
      const float value = real_from(static_cast<U16>(word >> (place % 2 * 16)), is_bf16);
      // CDNA2 takes denormal inputs of 16 bits as zero.
      return wave.generation == Generation::cdna2 && std::fabs(value) < (is_bf16 ? 0x1p-126f : 0x1p-14f) ? 0 : value;
    }
  }
}

/// CDNA2 takes denormal f32 as zero where the products are of 16 bits, in the addend and in the result.
template <class T, class Sum>
Sum flushed_sum(const Wave& wave, Sum sum) {
  if constexpr (std::is_same_v<Sum, float> && !std::is_same_v<T, float>)
    if (wave.generation == Generation::cdna2 && std::fabs(sum) < 0x1p-126f) return 0;
  return sum;
}

template <class Sum, std::size_t Rows>
using Results = std::array<std::array<Sum, 64>, Rows>;

/// Element of the addend: a register or two, or a constant for all.
template <class Sum>
Sum addend_of(const Wave& wave, const Operand& from, int row, int lane) {
  constexpr int words = sizeof(Sum) / 4;
  return from.kind == OperandKind::vector ? value_in<Sum>(wave, from.index + words * row, lane)
                                          : scalar_source<Sum>(wave, from);
}

/// Results as the registers that hold one for each lane.
template <class Sum, std::size_t Rows>
void write_results(Wave& wave, const Operand& to, const Results<Sum, Rows>& result) {
  constexpr int words = sizeof(Sum) / 4;
  for (int row = 0; row < static_cast<int>(Rows); ++row)
    for (int lane = 0; lane < wave.lanes; ++lane) {
      std::array<U, words> word;
      std::memcpy(word.data(), &result[static_cast<unsigned>(row)][static_cast<unsigned>(lane)], sizeof word);
      for (int i = 0; i < words; ++i) wave.row(to.index + words * row + i)[lane] = word[static_cast<unsigned>(i)];
    }
}

/// The lanes that hold the row of A and the column of B of a result, or the beginnings of these.
struct Spot {
  int a, b;
};
/// For the result in a register of a lane, of blocks of Size x Size.
template <class T, int Size>
Spot mfma_spot(int row, int lane) {
  if constexpr (std::is_same_v<T, double>) {  // here the rows of the result go through the groups of 16 lanes first
    const int block = Size == 4 ? lane % 16 / 4 * 4 : 0;
    return {block + 4 * row + lane / 16, block + lane % Size};
  }
  if constexpr (Size == 32)
    return {row / 16 * 32 + row / 4 % 4 * 8 + lane / 32 * 4 + row % 4, row / 16 * 32 + lane % 32};
  if constexpr (Size == 16) return {row / 4 * 16 + lane / 16 * 4 + row % 4, row / 4 * 16 + lane % 16};
  return {lane / 4 * 4 + row, lane};
}

/// selects: the bits of op_sel that are known.
void refuse_modifiers(const Wave& wave, const Instruction& in, bool signs, int selects = 0) {
  const Modifiers& m = in.modifiers;
  if (m.cbsz != 0 || m.abid != 0 || m.blgp != 0 || m.clamp || (m.op_sel & ~selects) != 0 ||
      (!signs && (m.neg_lo != 0 || m.neg_hi != 0)))
    wave.fault(FaultKind::unknown_instruction, "has a modifier of matrix instructions that is not known");
}

/// Matrix instructions take the registers of all lanes.
void check_lanes(const Wave& wave) {
  if (wave.exec() != wave.all_lanes())
    wave.fault(FaultKind::matrix_operands,
               fmt::format("is a matrix instruction while only some lanes are active (exec is {:#x})", wave.exec()));
}

/// RDNA3 takes a result of lanes 0 to 15 from their registers, and one of lanes 16 to 31 from theirs.
void check_repeated(const Wave& wave, const Operand& operand) {
  for (int row = operand.index; row < operand.index + operand.registers; ++row)
    for (int lane = 16; lane < 32; ++lane)
      if (wave.row(row)[lane] != wave.row(row)[lane - 16])
        wave.fault(FaultKind::matrix_operands,
                   fmt::format("takes v{}, in which lane {} does not repeat lane {}, as lanes 16 to 31 must on RDNA3",
                               row, lane, lane - 16));
}

/// D = A B + C: the sums go along k, each product fused. A lane holds `depth` elements of a row of A or column of B;
/// the next ones are `width` lanes further. is_signed: for integers, a bit for A and one for B.
template <class T, class OfB, int K, class Sum, std::size_t Rows, class SpotOf, class AddendOf>
void multiply(const Wave& wave, const Instruction& in, int depth, int width, int is_signed, const SpotOf& spot_of,
              const AddendOf& addend, Results<Sum, Rows>& result) {
  const int a = in.operand[1].index, b = in.operand[2].index;
  for (int row = 0; row < static_cast<int>(Rows); ++row) {
    for (int lane = 0; lane < wave.lanes; ++lane) {
      const Spot spot = spot_of(row, lane);
      Sum sum = addend(row, lane);
      for (int k = 0; k < K; ++k) {
        const int group = k / depth * width, place = k % depth;
        const auto x = element_of<T>(wave, a, spot.a + group, place, (is_signed & 1) != 0);
        const auto y = element_of<OfB>(wave, b, spot.b + group, place, (is_signed & 2) != 0);
        if constexpr (std::is_same_v<Sum, I>)
          sum = static_cast<I>(static_cast<U>(sum) + static_cast<U>(x * y));
        else
          sum = std::fma(x, y, sum);
      }
      result[static_cast<unsigned>(row)][static_cast<unsigned>(lane)] = flushed_sum<T>(wave, sum);
    }
  }
}

template <class T>
using SumOf =
    std::conditional_t<std::is_same_v<T, I8>, I, std::conditional_t<std::is_same_v<T, double>, double, float>>;

/// For Blocks blocks of Size x Size, K deep. All lanes take part.
template <class T, int Size, int K, int Blocks, class OfB = T>
void mfma(Wave& wave, const Instruction& in) {
  refuse_modifiers(wave, in, false);
  check_lanes(wave);
  Results<SumOf<T>, Size * Size * Blocks / 64> result;
  multiply<T, OfB, K>(
      wave, in, K * Size * Blocks / 64, Size * Blocks, 3, mfma_spot<T, Size>,
      [&](int row, int lane) { return flushed_sum<T>(wave, addend_of<SumOf<T>>(wave, in.operand[3], row, lane)); },
      result);
  write_results(wave, in.operand[0], result);
}

/// What all instructions for waves of 32 need.
void check_wmma(const Wave& wave, const Instruction& in) {
  if (wave.lanes != 32)
    wave.fault(FaultKind::unsupported, "is a matrix instruction in a wave of 64 lanes, which is not supported");
  check_lanes(wave);
  if (wave.generation != Generation::rdna4)
    for (const unsigned i : {1u, 2u}) check_repeated(wave, in.operand[i]);
}

/// 16 x 16 x 16 in waves of 32. RDNA3: 16 lanes hold a whole row of A or column of B, and the other 16 repeat them.
/// RDNA4: each half of the wave holds one half of k.
template <class T, class OfB, class Sum, class AddendOf>
void multiply_16(const Wave& wave, const Instruction& in, const AddendOf& addend, Results<Sum, 8>& result) {
  const bool halves = wave.generation == Generation::rdna4;
  const auto spot_of = [&](int row, int lane) {
    return Spot{halves ? row + lane / 16 * 8 : 2 * row + lane / 16, lane % 16};
  };
  multiply<T, OfB, 16>(wave, in, halves ? 8 : 16, 16, in.modifiers.neg_lo, spot_of, addend, result);
}

/// Results of 16 bits, added in f32 and rounded once. RDNA3 has a result in each register, in the half that op_sel
/// names, and keeps the other half; RDNA4 has two.
template <class T>
void wmma_short(Wave& wave, const Instruction& in) {
  constexpr bool is_bf16 = std::is_same_v<T, Bf16>;
  const bool packed = wave.generation == Generation::rdna4;
  refuse_modifiers(wave, in, false, packed ? 0 : 4);
  check_wmma(wave, in);
  const Operand& c = in.operand[3];
  const auto place_of = [&](int part) {
    if (packed) return std::pair(part / 2, part % 2 * 16);
    return std::pair(part, in.modifiers.op_sel & 4 ? 16 : 0);
  };
  const auto addend = [&](int part, int lane) {
    const auto [row, shift] = place_of(part);
    if (c.kind == OperandKind::vector)
      return real_from(static_cast<U16>(wave.row(c.index + row)[lane] >> shift), is_bf16);
    if (c.kind != OperandKind::real && !(c.kind == OperandKind::integer && c.integer == 0))
      wave.fault(FaultKind::unknown_instruction, "adds a constant that is not known");
    return static_cast<float>(c.real);
  };
  Results<float, 8> result;
  multiply_16<T, T>(wave, in, addend, result);
  for (int part = 0; part < 8; ++part) {
    const auto [row, shift] = place_of(part);
    for (int lane = 0; lane < 32; ++lane) {
      const float sum = result[static_cast<unsigned>(part)][static_cast<unsigned>(lane)];
      U& word = wave.row(in.operand[0].index + row)[lane];
      word = (word & ~(0xffffu << shift)) | U{is_bf16 ? bf16_from(sum) : half_from(double{sum}).bits} << shift;
    }
  }
}

template <class T, class OfB = T>
void wmma(Wave& wave, const Instruction& in) {
  refuse_modifiers(wave, in, std::is_same_v<T, I8>);
  check_wmma(wave, in);
  Results<SumOf<T>, 8> result;
  multiply_16<T, OfB>(
      wave, in, [&](int row, int lane) { return addend_of<SumOf<T>>(wave, in.operand[3], row, lane); }, result);
  write_results(wave, in.operand[0], result);
}

constexpr Operation matrix_table[] = {
    {"v_mfma_f32_32x32x1f32 v_mfma_f32_32x32x1_2b_f32", mfma<float, 32, 1, 2>},
    {"v_mfma_f32_16x16x1f32 v_mfma_f32_16x16x1_4b_f32", mfma<float, 16, 1, 4>},
    {"v_mfma_f32_4x4x1f32 v_mfma_f32_4x4x1_16b_f32", mfma<float, 4, 1, 16>},
    {"v_mfma_f32_32x32x2f32 v_mfma_f32_32x32x2_f32", mfma<float, 32, 2, 1>},
    {"v_mfma_f32_16x16x4f32 v_mfma_f32_16x16x4_f32", mfma<float, 16, 4, 1>},
    {"v_mfma_f32_32x32x4f16 v_mfma_f32_32x32x4_2b_f16", mfma<Half, 32, 4, 2>},
    {"v_mfma_f32_16x16x4f16 v_mfma_f32_16x16x4_4b_f16", mfma<Half, 16, 4, 4>},
    {"v_mfma_f32_4x4x4f16 v_mfma_f32_4x4x4_16b_f16", mfma<Half, 4, 4, 16>},
    {"v_mfma_f32_32x32x8f16 v_mfma_f32_32x32x8_f16", mfma<Half, 32, 8, 1>},
    {"v_mfma_f32_16x16x16f16 v_mfma_f32_16x16x16_f16", mfma<Half, 16, 16, 1>},
    {"v_mfma_f32_32x32x4bf16_1k v_mfma_f32_32x32x4_2b_bf16", mfma<Bf16, 32, 4, 2>},
    {"v_mfma_f32_16x16x4bf16_1k v_mfma_f32_16x16x4_4b_bf16", mfma<Bf16, 16, 4, 4>},
    {"v_mfma_f32_4x4x4bf16_1k v_mfma_f32_4x4x4_16b_bf16", mfma<Bf16, 4, 4, 16>},
    {"v_mfma_f32_32x32x8bf16_1k v_mfma_f32_32x32x8_bf16", mfma<Bf16, 32, 8, 1>},
    {"v_mfma_f32_16x16x16bf16_1k v_mfma_f32_16x16x16_bf16", mfma<Bf16, 16, 16, 1>},
    {"v_mfma_f32_32x32x4bf16", mfma<Bf16, 32, 4, 1>},
    {"v_mfma_f32_16x16x8bf16", mfma<Bf16, 16, 8, 1>},
    {"v_mfma_f64_16x16x4f64 v_mfma_f64_16x16x4_f64", mfma<double, 16, 4, 1>},
    {"v_mfma_f64_4x4x4f64 v_mfma_f64_4x4x4_4b_f64", mfma<double, 4, 4, 4>},
    {"v_mfma_i32_32x32x8i8", mfma<I8, 32, 8, 1>},
    {"v_mfma_i32_16x16x16i8", mfma<I8, 16, 16, 1>},
    {"v_mfma_i32_32x32x4i8 v_mfma_i32_32x32x4_2b_i8", mfma<I8, 32, 4, 2>},
    {"v_mfma_i32_16x16x4i8 v_mfma_i32_16x16x4_4b_i8", mfma<I8, 16, 4, 4>},
    {"v_mfma_i32_4x4x4i8 v_mfma_i32_4x4x4_16b_i8", mfma<I8, 4, 4, 16>},
    {"v_mfma_i32_32x32x16_i8", mfma<I8, 32, 16, 1>},
    {"v_mfma_i32_16x16x32_i8", mfma<I8, 16, 32, 1>},
    {"v_mfma_f32_16x16x32_fp8_fp8", mfma<Fp8, 16, 32, 1>},
    {"v_mfma_f32_16x16x32_fp8_bf8", mfma<Fp8, 16, 32, 1, Bf8>},
    {"v_mfma_f32_16x16x32_bf8_fp8", mfma<Bf8, 16, 32, 1, Fp8>},
    {"v_mfma_f32_16x16x32_bf8_bf8", mfma<Bf8, 16, 32, 1>},
    {"v_mfma_f32_32x32x16_fp8_fp8", mfma<Fp8, 32, 16, 1>},
    {"v_mfma_f32_32x32x16_fp8_bf8", mfma<Fp8, 32, 16, 1, Bf8>},
    {"v_mfma_f32_32x32x16_bf8_fp8", mfma<Bf8, 32, 16, 1, Fp8>},
    {"v_mfma_f32_32x32x16_bf8_bf8", mfma<Bf8, 32, 16, 1>},
    {"v_wmma_f32_16x16x16_fp8_fp8", wmma<Fp8>},
    {"v_wmma_f32_16x16x16_fp8_bf8", wmma<Fp8, Bf8>},
    {"v_wmma_f32_16x16x16_bf8_fp8", wmma<Bf8, Fp8>},
    {"v_wmma_f32_16x16x16_bf8_bf8", wmma<Bf8>},
    {"v_wmma_f32_16x16x16_f16", wmma<Half>},
    {"v_wmma_f32_16x16x16_bf16", wmma<Bf16>},
    {"v_wmma_f16_16x16x16_f16", wmma_short<Half>},
    {"v_wmma_bf16_16x16x16_bf16", wmma_short<Bf16>},
    {"v_wmma_i32_16x16x16_iu8", wmma<I8>},
};

}  // namespace

const OperationTable matrix_operations{Kind::matrix, matrix_table};

}  // namespace xtune::emulator
