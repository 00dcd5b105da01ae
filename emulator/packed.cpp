// Packed instructions (VOP3P): two numbers of 16 bits in a register, or two f32 in two.
#include <cmath>
#include <utility>

#include "emulator/arithmetic.hpp"
#include "emulator/lanes.hpp"
#include "emulator/operations.hpp"

namespace xtune::emulator {
namespace {

U16 short_of(int value) { return static_cast<U16>(value); }

/// Which half of each source the low and the high result take, and their signs.
struct PackedChoice {
  bool high, negative;
};
PackedChoice packed_choice(const Modifiers& modifiers, int place, bool of_high) {
  const std::uint8_t select = of_high ? (modifiers.has_op_sel_hi ? modifiers.op_sel_hi : 0xff) : modifiers.op_sel;
  const std::uint8_t negate = of_high ? modifiers.neg_hi : modifiers.neg_lo;
  return {(select >> place & 1) != 0, (negate >> place & 1) != 0};
}

U16 packed_half(U word, const PackedChoice& choice) {
  U bits = choice.high ? word >> 16 : word & 0xffffu;
  if (choice.negative) bits ^= 0x8000u;
  return static_cast<U16>(bits);
}

/// A constant of packed f16 instructions is in the low half.
void fetch_packed(const Wave& wave, const Operand& from, bool halves, Lanes<U>& to) {
  Instruction plain;
  if (halves && from.kind == OperandKind::real) {
    for (U& each : to.value) each = half_from(from.real).bits;
  } else {
    fetch(wave, plain, from, 0, to);
  }
}

template <auto F, class L, class T, class... A>
void packed_function(Wave& wave, const Instruction& in, T (L::*)(A...) const) {
  Lanes<U> source[sizeof...(A)];
  for (std::size_t i = 0; i < sizeof...(A); ++i) fetch_packed(wave, in.operand[1 + i], is_float<T>, source[i]);
  Lanes<U> result;
  for (int lane = 0; lane < 64; ++lane) {
    U word = 0;
    for (const bool high : {false, true}) {
      const auto half = [&](std::size_t i) {
        return packed_half(source[i].value[lane], packed_choice(in.modifiers, static_cast<int>(i), high));
      };
      const T value = [&]<std::size_t... I>(std::index_sequence<I...>) { return F(std::bit_cast<A>(half(I))...); }
      (std::index_sequence_for<A...>{});
      U16 bits = std::bit_cast<U16>(value);
      if constexpr (is_float<T>) bits = scaled_and_clamped(wave, in, value).bits;
      word |= U{bits} << (high ? 16 : 0);
    }
    result.value[lane] = word;
  }
  if (!is_float<T> && in.modifiers.clamp)
    wave.fault(FaultKind::unknown_instruction, "clamps integers, which is not known");
  write_row(wave, in.operand[0].index, result.value, written_lanes(wave, in));
}

template <auto F>
void packed(Wave& wave, const Instruction& in) {
  packed_function<F>(wave, in, &decltype(F)::operator());
}

/// As sum_of for one number: with clamp the nearest number that T has, else the lower bits.
template <class T, auto Sum>
void packed_sum(Wave& wave, const Instruction& in) {
  if (!in.modifiers.clamp) return packed<[](T a, T b) { return static_cast<T>(Sum(a, b)); }>(wave, in);
  Instruction unclamped = in;
  unclamped.modifiers.clamp = false;
  packed<[](T a, T b) { return nearest<T>(Sum(a, b)); }>(wave, unclamped);
}

/// One of the two f32 of a source for all lanes.
void fetch_of_two(const Wave& wave, const Instruction& in, int place, bool of_high, Lanes<float>& to) {
  const auto [high, negative] = packed_choice(in.modifiers, place, of_high);
  Operand from = in.operand[static_cast<unsigned>(1 + place)];
  if (from.kind == OperandKind::vector || from.kind == OperandKind::scalar) {
    from.index = static_cast<std::uint16_t>(from.index + high);
  } else if (high) {
    wave.fault(FaultKind::unknown_instruction, "takes the high half of a constant, which is not known");
  }
  Instruction plain;
  fetch(wave, plain, from, 0, to);
  if (negative)
    for (float& each : to.value) each = -each;
}

template <auto F, int Sources>
void packed_f32(Wave& wave, const Instruction& in) {
  Lanes<float> result[2];
  for (const bool high : {false, true}) {
    Lanes<float> source[3];
    for (int i = 0; i < Sources; ++i) fetch_of_two(wave, in, i, high, source[i]);
    for (int lane = 0; lane < 64; ++lane)
      result[high].value[lane] =
          F(source[0].value[lane], source[1].value[lane], Sources == 3 ? source[2].value[lane] : 0.0f);
  }
  Operand to = in.operand[0];
  Instruction plain;
  plain.modifiers.clamp = in.modifiers.clamp;
  write(wave, plain, to, result[0]);
  ++to.index;
  write(wave, plain, to, result[1]);
}

void v_pk_mov_b32(Wave& wave, const Instruction& in) {
  Lanes<U> result[2];
  Instruction plain;
  for (int i = 0; i < 2; ++i) {
    Operand from = in.operand[static_cast<unsigned>(1 + i)];
    if (from.kind == OperandKind::vector || from.kind == OperandKind::scalar)
      from.index = static_cast<std::uint16_t>(from.index + (in.modifiers.op_sel >> i & 1));
    fetch(wave, plain, from, 0, result[i]);
  }
  for (int i = 0; i < 2; ++i) write_row(wave, in.operand[0].index + i, result[i].value, wave.exec());
}

constexpr Operation packed_table[] = {
    {"v_pk_add_f16", packed<[](Half a, Half b) { return half_from(to_double(a) + to_double(b)); }>},
    {"v_pk_mul_f16", packed<[](Half a, Half b) { return half_from(to_double(a) * to_double(b)); }>},
    {"v_pk_fma_f16", packed<[](Half a, Half b, Half c) { return half_fma(to_double(a), to_double(b), to_double(c)); }>},
    {"v_pk_fmac_f16", packed<[](Half a, Half b, Half c) { return half_fma(to_double(a), to_double(b), to_double(c)); }>,
     Sources::with_target},
    {"v_pk_min_f16 v_pk_min_num_f16",
     packed<[](Half a, Half b) { return half_from(minimum_number(to_double(a), to_double(b))); }>},
    {"v_pk_max_f16 v_pk_max_num_f16",
     packed<[](Half a, Half b) { return half_from(maximum_number(to_double(a), to_double(b))); }>},
    {"v_pk_minimum_f16", packed<[](Half a, Half b) { return half_from(minimum(to_double(a), to_double(b))); }>},
    {"v_pk_maximum_f16", packed<[](Half a, Half b) { return half_from(maximum(to_double(a), to_double(b))); }>},
    {"v_pk_add_u16", packed_sum<U16, plus>},
    {"v_pk_add_i16", packed_sum<I16, plus>},
    {"v_pk_sub_u16", packed_sum<U16, minus>},
    {"v_pk_sub_i16", packed_sum<I16, minus>},
    {"v_pk_mul_lo_u16", packed<[](U16 a, U16 b) { return static_cast<U16>(U{a} * b); }>},
    {"v_pk_mad_u16 v_pk_mad_i16", packed<[](U16 a, U16 b, U16 c) { return static_cast<U16>(U{a} * b + c); }>},
    {"v_pk_min_u16", packed<[](U16 a, U16 b) { return a < b ? a : b; }>},
    {"v_pk_max_u16", packed<[](U16 a, U16 b) { return a < b ? b : a; }>},
    {"v_pk_min_i16", packed<[](I16 a, I16 b) { return a < b ? a : b; }>},
    {"v_pk_max_i16", packed<[](I16 a, I16 b) { return a < b ? b : a; }>},
    {"v_pk_lshlrev_b16", packed<[](U16 a, U16 b) { return short_of(b << (a & 15)); }>},
    {"v_pk_lshrrev_b16", packed<[](U16 a, U16 b) { return (short_of(b >> (a & 15))); }>},
    {"v_pk_ashrrev_i16", packed<[](U16 a, I16 b) { return (static_cast<I16>(b >> (a & 15))); }>},
    {"v_pk_fma_f32", packed_f32<[](float a, float b, float c) { return std::fma(a, b, c); }, 3>},
    {"v_pk_mul_f32", packed_f32<[](float a, float b, float) { return a * b; }, 2>},
    {"v_pk_add_f32", packed_f32<[](float a, float b, float) { return a + b; }, 2>},
    {"v_pk_mov_b32", v_pk_mov_b32},
};

}  // namespace

const OperationTable packed_operations{Kind::vector, packed_table};

}  // namespace xtune::emulator
