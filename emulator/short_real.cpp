// Instructions of the vector unit for f16 and bf16, and the products of pairs of them.
#include <algorithm>
#include <bit>
#include <cmath>

#include "emulator/arithmetic.hpp"
#include "emulator/lanes.hpp"
#include "emulator/operations.hpp"

namespace xtune::emulator {
namespace {

float f(Half value) { return static_cast<float>(to_double(value)); }

U16 fixed16(float value, double scale, double low, double high) {
  const double number = std::isnan(value) ? 0 : std::fmin(std::fmax(std::nearbyint(value * scale), low), high);
  return static_cast<U16>(static_cast<int>(number));
}

/// The three sources of a mixed product: f16 or f32 each, as op_sel_hi says.
float mixed_source(const Modifiers& modifiers, int place, const Operand& from, U word, bool constant) {
  float value = 0;
  if (modifiers.op_sel_hi >> place & 1) {
    const bool high = modifiers.op_sel >> place & 1;
    value = f(Half{static_cast<U16>(high ? word >> 16 : word)});
    if (constant) value = static_cast<float>(from.real);
  } else {
    value = std::bit_cast<float>(word);
  }
  if (from.absolute || (modifiers.neg_hi >> place & 1)) value = std::fabs(value);
  if (from.negative || (modifiers.neg_lo >> place & 1)) value = -value;
  return value;
}

void mixed_products(Wave& wave, const Instruction& in, float* result) {
  Lanes<U> word[3];
  for (int i = 0; i < 3; ++i) {
    Operand plain = in.operand[static_cast<unsigned>(1 + i)];
    plain.negative = plain.absolute = false;
    Instruction without;  // op_sel means something else here
    fetch(wave, without, plain, i, word[i]);
  }
  for (int lane = 0; lane < 64; ++lane) {
    float source[3];
    for (int i = 0; i < 3; ++i) {
      const Operand& from = in.operand[static_cast<unsigned>(1 + i)];
      source[i] = mixed_source(in.modifiers, i, from, word[i].value[lane], from.kind == OperandKind::real);
    }
    result[lane] = std::fma(source[0], source[1], source[2]);
  }
}

void v_fma_mix_f32(Wave& wave, const Instruction& in) {
  Lanes<float> result;
  mixed_products(wave, in, result.value);
  write(wave, in, in.operand[0], result);
}

template <bool High>
void v_fma_mix_f16(Wave& wave, const Instruction& in) {
  float product[64];
  mixed_products(wave, in, product);
  Lanes<U> result;
  const U* const old = wave.row(in.operand[0].index);
  for (int lane = 0; lane < 64; ++lane) {
    const U bits = half_from(scaled_and_clamped(wave, in, product[lane])).bits;
    result.value[lane] = High ? (old[lane] & 0xffffu) | bits << 16 : (old[lane] & 0xffff0000u) | bits;
  }
  write_row(wave, in.operand[0].index, result.value, written_lanes(wave, in));
}

float dot_f16(U a, U b, float c) {
  const auto half = [](U word, int shift) { return f(Half{static_cast<U16>(word >> shift)}); };
  return std::fma(half(a, 0), half(b, 0), std::fma(half(a, 16), half(b, 16), c));
}

/// The low product first, as AMD's documents have it.
float dot_bf16(U a, U b, float c) {
  const auto number = [](U word, int shift) { return from_bf16(static_cast<U16>(word >> shift)); };
  return std::fma(number(a, 16), number(b, 16), std::fma(number(a, 0), number(b, 0), c));
}

double fraction_f16(double x) {
  constexpr double largest = 0x1.ffcp-1;
  return x - std::floor(x) > largest ? largest : x - std::floor(x);
}

/// V_DIV_FIXUP_F16: the quotient, or what IEEE 754 has for special operands.
Half division_fixup_f16(Half quotient, Half denominator, Half numerator) {
  const double d = to_double(denominator), n = to_double(numerator);
  const U sign = (denominator.bits ^ numerator.bits) & 0x8000u;
  const auto code = [](U bits) { return Half{static_cast<U16>(bits)}; };
  if (std::isnan(n)) return code(numerator.bits | 0x200u);
  if (std::isnan(d)) return code(denominator.bits | 0x200u);
  if ((d == 0 && n == 0) || (std::isinf(d) && std::isinf(n))) return code(0xfe00);
  if (d == 0 || std::isinf(n)) return code(sign | 0x7c00);
  if (std::isinf(d) || n == 0) return code(sign);
  return code(sign | (quotient.bits & 0x7fffu));
}

bool has_fnuz(const Wave& wave) { return wave.generation == Generation::cdna3; }

/// One byte of each source as f32. CDNA names it by SDWA, and RDNA4 by byte_sel.
template <int Mantissa>
void v_cvt_f32_f8(Wave& wave, const Instruction& in) {
  if (in.modifiers.op_sel != 0) wave.fault(FaultKind::unknown_instruction, "selects a byte in a way that is not known");
  Lanes<U> source;
  Lanes<float> result;
  fetch(wave, in, in.operand[1], 0, source);
  for (int lane = 0; lane < 64; ++lane)
    result.value[lane] =
        from_f8(static_cast<std::uint8_t>(source.value[lane] >> (8 * in.modifiers.byte)), Mantissa, has_fnuz(wave));
  write(wave, in, in.operand[0], result);
}

/// Two bytes of each source, the low ones or the high ones, as f32.
template <int Mantissa>
void v_cvt_pk_f32_f8(Wave& wave, const Instruction& in) {
  Lanes<U> source;
  Lanes<float> result[2];
  fetch(wave, in, in.operand[1], 0, source);
  const int first = !in.modifiers.sdwa && selects_high(in, in.operand[1], 0) ? 16 : 0;
  for (int lane = 0; lane < 64; ++lane)
    for (int i = 0; i < 2; ++i)
      result[i].value[lane] =
          from_f8(static_cast<std::uint8_t>(source.value[lane] >> (first + 8 * i)), Mantissa, has_fnuz(wave));
  for (int i = 0; i < 2; ++i) {
    Operand to = in.operand[0];
    to.index = static_cast<std::uint16_t>(to.index + i);
    write(wave, in, to, result[i]);
  }
}

/// Two f32 as two bytes, in the low or the high half of the target. The other half stays.
template <int Mantissa>
void v_cvt_pk_f8_f32(Wave& wave, const Instruction& in) {
  Lanes<float> source[2];
  for (int i = 0; i < 2; ++i) fetch(wave, in, in.operand[static_cast<unsigned>(1 + i)], i, source[i]);
  const Operand& to = in.operand[0];
  const int shift = to.half == RegisterHalf::high || selects_high(in, to, 3) ? 16 : 0;
  Lanes<U> result;
  const U* const old = wave.row(in.operand[0].index);
  for (int lane = 0; lane < 64; ++lane) {
    const U low = f8_from(source[0].value[lane], Mantissa, has_fnuz(wave));
    const U high = f8_from(source[1].value[lane], Mantissa, has_fnuz(wave));
    result.value[lane] = (old[lane] & 0xffffu << (16 - shift)) | (low | high << 8) << shift;
  }
  write_row(wave, in.operand[0].index, result.value, written_lanes(wave, in));
}

constexpr Operation short_real_table[] = {
    {"v_fma_f16 v_fmaak_f16 v_fmamk_f16",
     each_lane<[](Half a, Half b, Half c) { return half_fma(to_double(a), to_double(b), to_double(c)); }>},
    {"v_fmac_f16", each_lane<[](Half a, Half b, Half c) { return half_fma(to_double(a), to_double(b), to_double(c)); }>,
     Sources::with_target},
    {"v_ldexp_f16", each_lane<[](Half a, I16 b) { return half_from(std::ldexp(to_double(a), b)); }>},
    {"v_fract_f16", each_lane<[](Half a) { return half_from(fraction_f16(to_double(a))); }>},
    {"v_frexp_exp_i16_f16", each_lane<[](Half a) {
       int exponent = 0;
       const double number = to_double(a);
       if (std::isfinite(number) && number != 0) std::frexp(number, &exponent);
       return static_cast<I16>(exponent);
     }>},
    {"v_div_fixup_f16", each_lane<[](Half a, Half b, Half c) { return division_fixup_f16(a, b, c); }>},
    {"v_cvt_f32_fp8", v_cvt_f32_f8<3>},
    {"v_cvt_f32_bf8", v_cvt_f32_f8<2>},
    {"v_cvt_pk_f32_fp8", v_cvt_pk_f32_f8<3>},
    {"v_cvt_pk_f32_bf8", v_cvt_pk_f32_f8<2>},
    {"v_cvt_pk_fp8_f32", v_cvt_pk_f8_f32<3>},
    {"v_cvt_pk_bf8_f32", v_cvt_pk_f8_f32<2>},
    {"v_cvt_f32_f16", each_lane<[](Half a) { return f(a); }>},
    {"v_cvt_f16_f32", each_lane<[](float a) { return half_from(a); }>},
    {"v_cvt_f16_u16", each_lane<[](U16 a) { return half_from(a); }>},
    {"v_cvt_f16_i16", each_lane<[](I16 a) { return half_from(a); }>},
    {"v_cvt_u16_f16", each_lane<[](Half a) { return (saturated<U16>(to_double(a))); }>},
    {"v_cvt_i16_f16", each_lane<[](Half a) { return (saturated<I16>(to_double(a))); }>},
    {"v_cvt_pkrtz_f16_f32 v_cvt_pk_rtz_f16_f32",
     each_lane<[](float a, float b) { return pair_of(half_truncated(a), half_truncated(b)); }>},
    {"v_cvt_pk_i16_i32", each_lane<[](std::int32_t a, std::int32_t b) {
       const auto clamp = [](std::int32_t x) {
         return (static_cast<U>(x < -32768 ? -32768 : (x > 32767) ? 32767 : x) & 0xffffu);
       };
       return clamp(a) | clamp(b) << 16;
     }>},
    {"v_cvt_pk_u16_u32", each_lane<[](U a, U b) { return std::min(a, U{65535}) | std::min(b, U{65535}) << 16; }>},
    {"v_cvt_pknorm_i16_f32 v_cvt_pk_norm_i16_f32", each_lane<[](float a, float b) {
       return fixed16(a, 32767, -32767, 32767) | U{fixed16(b, 32767, -32767, 32767)} << 16;
     }>},
    {"v_cvt_pknorm_u16_f32 v_cvt_pk_norm_u16_f32",
     each_lane<[](float a, float b) { return fixed16(a, 65535, 0, 65535) | U{fixed16(b, 65535, 0, 65535)} << 16; }>},
    {"v_fma_mix_f32", v_fma_mix_f32},
    {"v_fma_mixlo_f16", v_fma_mix_f16<false>},
    {"v_fma_mixhi_f16", v_fma_mix_f16<true>},
    {"v_dot2_f32_f16", each_lane<[](U a, U b, float c) { return dot_f16(a, b, c); }>},
    {"v_dot2_f32_bf16", each_lane<[](U a, U b, float c) { return dot_bf16(a, b, c); }>},
    {"v_dot2c_f32_f16 v_dual_dot2acc_f32_f16 v_dot2acc_f32_f16",
     each_lane<[](U a, U b, float c) { return dot_f16(a, b, c); }>, Sources::with_target},
};

}  // namespace

const OperationTable half_operations{Kind::vector, short_real_table};

}  // namespace xtune::emulator
