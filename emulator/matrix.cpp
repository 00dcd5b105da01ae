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

/// Elements of an operand of a lane, which begins at a vector register.
template <class T>
float real_element(const Wave& wave, int first, int lane, int element) {
  const U word = wave.row(first + element * static_cast<int>(sizeof(T)) / 4)[lane];
  if constexpr (std::is_same_v<T, float>) {
    return std::bit_cast<float>(word);
  } else if constexpr (sizeof(T) == 1) {
    const auto bits = static_cast<std::uint8_t>(word >> (element % 4 * 8));
    return from_f8(bits, T::mantissa, wave.generation == Generation::cdna3);
  } else {
    const auto bits = static_cast<std::uint16_t>(word >> (element % 2 * 16));
    const float value = std::is_same_v<T, Bf16> ? from_bf16(bits) : static_cast<float>(to_double(Half{bits}));
    const float least = std::is_same_v<T, Bf16> ? 0x1p-126f : 0x1p-14f;
    // CDNA2 takes denormal inputs of 16 bits as zero.
    return wave.generation == Generation::cdna2 && std::fabs(value) < least ? 0.0f : value;
  }
}

int byte_element(const Wave& wave, int first, int lane, int element, bool is_signed) {
  const U byte = wave.row(first + element / 4)[lane] >> (element % 4 * 8) & 255;
  return is_signed ? static_cast<std::int8_t>(byte) : static_cast<int>(byte);
}

/// CDNA2 takes denormal f32 as zero where the products are of 16 bits, in the addend and in the result.
template <class T, class Sum>
Sum flushed_sum(const Wave& wave, Sum sum) {
  if constexpr (std::is_same_v<Sum, float> && !std::is_same_v<T, float>)
    if (wave.generation == Generation::cdna2 && std::fabs(sum) < 0x1p-126f) return 0;
  return sum;
}

/// Element of the addend: a register, or a constant for all.
template <class T>
T addend(const Wave& wave, const Operand& from, int row, int lane) {
  if (from.kind == OperandKind::vector) return std::bit_cast<T>(wave.row(from.index + row)[lane]);
  return scalar_source<T>(wave, from);
}

/// Where the result (i, j) of a block is: a lane and a register.
struct Spot {
  int lane, row;
};
template <int Size>
Spot mfma_spot(int i, int j, int block) {
  if constexpr (Size == 32) return {j + 32 * (i / 4 % 2), i % 4 + 4 * (i / 8) + 16 * block};
  if constexpr (Size == 16) return {j + 16 * (i / 4), i % 4 + 4 * block};
  return {j + 4 * block, i};
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

/// D = A B + C for Blocks blocks of Size x Size, K deep. All lanes take part. Sums go along k, each product fused.
template <class T, int Size, int K, int Blocks, class OfB = T>
void mfma(Wave& wave, const Instruction& in) {
  refuse_modifiers(wave, in, false);
  check_lanes(wave);
  constexpr bool integers = std::is_same_v<T, std::int8_t>;
  constexpr int in_lane = K * Size * Blocks / 64;  // elements of a row of A that a lane holds
  constexpr int rows = Size * Size * Blocks / 64;
  std::array<std::array<U, 64>, rows> result;
  const int a = in.operand[1].index, b = in.operand[2].index;
  for (int block = 0; block < Blocks; ++block) {
    for (int i = 0; i < Size; ++i) {
      for (int j = 0; j < Size; ++j) {
        const Spot spot = mfma_spot<Size>(i, j, block);
        using Sum = std::conditional_t<integers, std::int32_t, float>;
        Sum sum = flushed_sum<T>(wave, addend<Sum>(wave, in.operand[3], spot.row, spot.lane));
        for (int k = 0; k < K; ++k) {
          const int group = Size * (Blocks > 1 ? block : k / in_lane), element = k % in_lane;
          if constexpr (integers)
            sum =
                static_cast<Sum>(static_cast<U>(sum) + static_cast<U>(byte_element(wave, a, i + group, element, true) *
                                                                      byte_element(wave, b, j + group, element, true)));
          else
            sum = std::fma(real_element<T>(wave, a, i + group, element), real_element<OfB>(wave, b, j + group, element),
                           sum);
        }
        result[static_cast<unsigned>(spot.row)][static_cast<unsigned>(spot.lane)] =
            std::bit_cast<U>(flushed_sum<T>(wave, sum));
      }
    }
  }
  for (int row = 0; row < rows; ++row)
    std::memcpy(wave.row(in.operand[0].index + row), result[static_cast<unsigned>(row)].data(), sizeof(result[0]));
}

/// The two registers of a lane from the first one on.
double double_at(const Wave& wave, int first, int lane) {
  return std::bit_cast<double>(wave.row(first)[lane] | std::uint64_t{wave.row(first + 1)[lane]} << 32);
}

/// D = A B + C in f64, 4 deep: one block of 16 x 16, or four of 4 x 4. Here the rows of the result go through the
/// groups of 16 lanes first.
template <int Size>
void mfma_f64(Wave& wave, const Instruction& in) {
  refuse_modifiers(wave, in, false);
  check_lanes(wave);
  constexpr int results = Size * Size / (Size == 4 ? 16 : 64);
  std::array<std::array<double, 64>, results> result;
  const int a = in.operand[1].index, b = in.operand[2].index;
  const Operand& c = in.operand[3];
  for (int part = 0; part < results; ++part) {
    for (int lane = 0; lane < 64; ++lane) {
      const int block = Size == 4 ? lane % 16 / 4 * 4 : 0, i = 4 * part + lane / 16, j = lane % Size;
      double sum = c.kind == OperandKind::vector ? double_at(wave, c.index + 2 * part, lane) : constant<double>(c);
      for (int k = 0; k < 4; ++k)
        sum = std::fma(double_at(wave, a, 16 * k + block + i), double_at(wave, b, 16 * k + block + j), sum);
      result[static_cast<unsigned>(part)][static_cast<unsigned>(lane)] = sum;
    }
  }
  for (int part = 0; part < results; ++part) {
    for (int lane = 0; lane < 64; ++lane) {
      const auto bits = std::bit_cast<std::uint64_t>(result[static_cast<unsigned>(part)][static_cast<unsigned>(lane)]);
      wave.row(in.operand[0].index + 2 * part)[lane] = static_cast<U>(bits);
      wave.row(in.operand[0].index + 2 * part + 1)[lane] = static_cast<U>(bits >> 32);
    }
  }
}

/// What all instructions for waves of 32 need.
void check_wmma(const Wave& wave, const Instruction& in) {
  if (wave.lanes != 32)
    wave.fault(FaultKind::unsupported, "is a matrix instruction in a wave of 64 lanes, which is not supported");
  check_lanes(wave);
  if (wave.generation != Generation::rdna4)
    for (const unsigned i : {1u, 2u}) check_repeated(wave, in.operand[i]);
}

/// D = A B + C with results of 16 bits, added in f32 and rounded once. RDNA3 has a result in each register, in the half
/// that op_sel names, and keeps the other half; RDNA4 has two.
template <class T>
void wmma_short(Wave& wave, const Instruction& in) {
  const bool packed = wave.generation == Generation::rdna4;
  refuse_modifiers(wave, in, false, packed ? 0 : 4);
  check_wmma(wave, in);
  const int a = in.operand[1].index, b = in.operand[2].index, to = in.operand[0].index;
  const Operand& c = in.operand[3];
  const auto place_of = [&](int part) {
    if (packed) return std::pair(part / 2, part % 2 * 16);
    return std::pair(part, in.modifiers.op_sel & 4 ? 16 : 0);
  };
  const auto addend_of = [&](int part, int lane) {
    const auto [row, shift] = place_of(part);
    if (c.kind == OperandKind::vector) {
      const auto bits = static_cast<std::uint16_t>(wave.row(c.index + row)[lane] >> shift);
      return std::is_same_v<T, Bf16> ? from_bf16(bits) : static_cast<float>(to_double(Half{bits}));
    }
    if (c.kind != OperandKind::real && !(c.kind == OperandKind::integer && c.integer == 0))
      wave.fault(FaultKind::unknown_instruction, "adds a constant that is not known");
    return static_cast<float>(c.real);
  };
  std::array<std::array<std::uint16_t, 32>, 8> result{};
  for (int part = 0; part < 8; ++part) {
    for (int lane = 0; lane < 32; ++lane) {
      const int i = packed ? part + lane / 16 * 8 : 2 * part + lane / 16, j = lane % 16;
      float sum = addend_of(part, lane);
      for (int k = 0; k < 16; ++k) {
        const int group = packed ? k / 8 * 16 : 0, element = packed ? k % 8 : k;
        sum = std::fma(real_element<T>(wave, a, i + group, element), real_element<T>(wave, b, j + group, element), sum);
      }
      result[static_cast<unsigned>(part)][static_cast<unsigned>(lane)] =
          std::is_same_v<T, Bf16> ? bf16_from(sum) : half_from(double{sum}).bits;
    }
  }
  for (int part = 0; part < 8; ++part) {
    const auto [row, shift] = place_of(part);
    for (int lane = 0; lane < 32; ++lane) {
      U& word = wave.row(to + row)[lane];
      word = (word & ~(0xffffu << shift)) | U{result[static_cast<unsigned>(part)][static_cast<unsigned>(lane)]}
                                                << shift;
    }
  }
}

/// D = A B + C for 16 x 16 x 16 in waves of 32. RDNA3: 16 lanes hold a whole row of A or column of B, and the other 16
/// repeat them. RDNA4: each half of the wave holds one half of k.
template <class T, class OfB = T>
void wmma(Wave& wave, const Instruction& in) {
  constexpr bool integers = std::is_same_v<T, std::int8_t>;
  refuse_modifiers(wave, in, integers);
  check_wmma(wave, in);
  const bool halves = wave.generation == Generation::rdna4;
  using Sum = std::conditional_t<integers, std::int32_t, float>;
  std::array<std::array<U, 64>, 8> result{};
  const int a = in.operand[1].index, b = in.operand[2].index;
  for (int row = 0; row < 8; ++row) {
    for (int lane = 0; lane < 32; ++lane) {
      const int i = halves ? row + lane / 16 * 8 : 2 * row + lane / 16, j = lane % 16;
      Sum sum = addend<Sum>(wave, in.operand[3], row, lane);
      for (int k = 0; k < 16; ++k) {
        const int group = halves ? k / 8 * 16 : 0, element = halves ? k % 8 : k;
        if constexpr (integers)
          sum = static_cast<Sum>(static_cast<U>(sum) +
                                 static_cast<U>(byte_element(wave, a, i + group, element, in.modifiers.neg_lo & 1) *
                                                byte_element(wave, b, j + group, element, in.modifiers.neg_lo & 2)));
        else
          sum = std::fma(real_element<T>(wave, a, i + group, element), real_element<OfB>(wave, b, j + group, element),
                         sum);
      }
      result[static_cast<unsigned>(row)][static_cast<unsigned>(lane)] = std::bit_cast<U>(sum);
    }
  }
  for (int row = 0; row < 8; ++row)
    std::memcpy(wave.row(in.operand[0].index + row), result[static_cast<unsigned>(row)].data(), sizeof(result[0]));
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
    {"v_mfma_f64_16x16x4f64 v_mfma_f64_16x16x4_f64", mfma_f64<16>},
    {"v_mfma_f64_4x4x4f64 v_mfma_f64_4x4x4_4b_f64", mfma_f64<4>},
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
