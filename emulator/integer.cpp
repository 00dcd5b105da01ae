// Integer and bit instructions of the vector unit.
#include <algorithm>
#include <bit>
#include <limits>

#include "emulator/arithmetic.hpp"
#include "emulator/lanes.hpp"
#include "emulator/operations.hpp"

namespace xtune::emulator {
namespace {

using Carry = WithCarry<U>;

constexpr I signed24(U value) { return static_cast<I>(value << 8) >> 8; }
constexpr U unsigned24(U value) { return value & 0xffffff; }
constexpr U16 u16(int value) { return static_cast<U16>(value); }

constexpr U sum_of_differences(U a, U b, U c) {
  for (int shift = 0; shift < 32; shift += 8) {
    const I x = static_cast<I>(a >> shift & 255), y = static_cast<I>(b >> shift & 255);
    c += static_cast<U>(x < y ? y - x : x - y);
  }
  return c;
}

/// Sums of differences of bytes, without the bytes at which b is 0.
constexpr U sum_of_masked_differences(U a, U b, U c) {
  for (int shift = 0; shift < 32; shift += 8)
    if ((b >> shift & 255) != 0) c = sum_of_differences(a >> shift & 255, b >> shift & 255, c);
  return c;
}

/// Four sums of 16 bits, each of the differences of four bytes from one place in a.
template <auto Sum>
constexpr U64 four_sums(U64 a, U b, U64 c) {
  U64 result = 0;
  for (int i = 0; i < 4; ++i)
    result |= U64{Sum(static_cast<U>(a >> (8 * i)), b, static_cast<U>(c >> (16 * i) & 0xffff)) & 0xffff} << (16 * i);
  return result;
}

/// V_LERP_U8: averages of bytes, rounded up where the byte of c is odd.
constexpr U averages_of_bytes(U a, U b, U c) {
  U result = 0;
  for (int shift = 0; shift < 32; shift += 8)
    result |= ((a >> shift & 255) + (b >> shift & 255) + (c >> shift & 1)) >> 1 << shift;
  return result;
}

/// V_PERM_B32: a byte of {a, b} for each byte of the selector, a sign or a constant.
constexpr U permuted_bytes(U a, U b, U selector) {
  const U64 both = U64{a} << 32 | b;
  U result = 0;
  for (int i = 0; i < 4; ++i) {
    const U which = selector >> (8 * i) & 255;
    U byte = 0;
    if (which < 8)
      byte = static_cast<U>(both >> (8 * which)) & 255;
    else if (which < 12)
      byte = both >> (16 * (which - 8) + 15) & 1 ? 255 : 0;
    else if (which > 12)
      byte = 255;
    result |= byte << (8 * i);
  }
  return result;
}

constexpr U bit_field_unsigned(U a, U b, U c) {
  const U width = c & 31;
  return width == 0 ? 0 : a >> (b & 31) & ((1u << width) - 1);
}
constexpr I bit_field_signed(I a, U b, U c) {
  const int width = static_cast<int>(c & 31);
  if (width == 0) return 0;
  return static_cast<I>(static_cast<U>(a >> (b & 31)) << (32 - width)) >> (32 - width);
}

template <class T, class L>
WithCarry<T> wide_product(L a, L b, T c) {
  const auto product = static_cast<T>(a) * static_cast<T>(b);
  T sum = 0;
  const bool over = __builtin_add_overflow(product, c, &sum);
  return {sum, over};
}

/// Sum is exact, and in the type T; with clamp the nearest number that T has, else the lower bits.
template <class T, auto Sum>
void sum_of(Wave& wave, const Instruction& in) {
  using Bits = std::make_unsigned_t<T>;
  if (!in.modifiers.clamp) return each_lane<[](T a, T b) { return static_cast<Bits>(Sum(a, b)); }>(wave, in);
  Instruction unclamped = in;
  unclamped.modifiers.clamp = false;
  each_lane<[](T a, T b) { return static_cast<Bits>(nearest<T>(Sum(a, b))); }>(wave, unclamped);
}

/// Products of parts of `Bits` bits, each signed or not.
template <int Bits>
U dot_of_parts(U a, U b, U sum, bool a_signed, bool b_signed) {
  const auto part = [](U word, int shift, bool is_signed) {
    const U moved = word << (32 - Bits - shift);
    return is_signed ? static_cast<U>(static_cast<I>(moved) >> (32 - Bits)) : moved >> (32 - Bits);
  };
  for (int shift = 0; shift < 32; shift += Bits) sum += part(a, shift, a_signed) * part(b, shift, b_signed);
  return sum;
}

/// The negation bits of the sources say whether their parts are signed.
template <int Bits>
void v_dot_i32_iu(Wave& wave, const Instruction& in) {
  Lanes<U> a, b, sum;
  fetch(wave, in, in.operand[1], 0, a);
  fetch(wave, in, in.operand[2], 1, b);
  fetch(wave, in, in.operand[3], 2, sum);
  const int is_signed = in.modifiers.neg_lo;
  for (int lane = 0; lane < 64; ++lane)
    sum.value[lane] =
        dot_of_parts<Bits>(a.value[lane], b.value[lane], sum.value[lane], (is_signed & 1) != 0, (is_signed & 2) != 0);
  write(wave, in, in.operand[0], sum);
}

template <int Bits, bool Signed>
void dot(Wave& wave, const Instruction& in) {
  each_lane<[](U a, U b, U c) { return dot_of_parts<Bits>(a, b, c, Signed, Signed); }>(wave, in);
}

constexpr Carry carried(U value, bool carry) { return {value, carry}; }

template <auto F>
constexpr Operation integers(const char* names, const char* types = "u32 i32 u16 i16") {
  return {names,
          types,
          {each_lane<typed<F, U, U>()>, each_lane<typed<F, I, I>()>, each_lane<typed<F, U16, U16>()>,
           each_lane<typed<F, I16, I16>()>}};
}
template <auto F>
constexpr Operation bits(const char* names) {
  return {names, "b16 b32", {each_lane<typed<F, U16, U16>()>, each_lane<typed<F, U, U>()>}};
}

constexpr Operation integer_table[] = {
    integers<[](auto a, auto b) { return std::min(a, b); }>("v_min_#"),
    integers<[](auto a, auto b) { return std::max(a, b); }>("v_max_#"),
    integers<[](auto a, auto b, auto c) { return std::min(a, std::min(b, c)); }>("v_min3_#"),
    integers<[](auto a, auto b, auto c) { return std::max(a, std::max(b, c)); }>("v_max3_#"),
    integers<[](auto a, auto b, auto c) { return median(a, b, c); }>("v_med3_#"),
    integers<[](auto a, auto b, auto c) { return std::min(std::max(a, b), c); }>("v_maxmin_#", "u32 i32"),
    integers<[](auto a, auto b, auto c) { return std::max(std::min(a, b), c); }>("v_minmax_#", "u32 i32"),
    bits<[](auto a, auto b) { return a & b; }>("v_and_# v_dual_and_b32"),
    bits<[](auto a, auto b) { return a | b; }>("v_or_#"),
    bits<[](auto a, auto b) { return a ^ b; }>("v_xor_#"),
    bits<[](auto a) { return ~a; }>("v_not_#"),
    {"v_mov_b32 v_dual_mov_b32", each_lane<[](U a) { return a; }>},
    {"v_mov_b64", each_lane<[](U64 a) { return a; }>},
    {"v_mov_b16", each_lane<[](U16 a) { return a; }>},
    {"v_cndmask_b32", each_lane<[](U a, U b, LaneBit c) { return c.set ? b : a; }>},
    {"v_add_u32 v_add_nc_u32", sum_of<U, plus>},
    {"v_sub_u32 v_sub_nc_u32", sum_of<U, minus>},
    {"v_subrev_u32 v_subrev_nc_u32", sum_of<U, reverse_minus>},
    {"v_add_i32 v_add_nc_i32", sum_of<I, plus>},
    {"v_sub_i32 v_sub_nc_i32", sum_of<I, minus>},
    {"v_add_co_u32", each_lane<[](U a, U b) { return carried(a + b, a + b < a); }>},
    {"v_sub_co_u32", each_lane<[](U a, U b) { return carried(a - b, a < b); }>},
    {"v_subrev_co_u32", each_lane<[](U a, U b) { return carried(b - a, b < a); }>},
    {"v_addc_co_u32 v_add_co_ci_u32",
     each_lane<[](U a, U b, LaneBit c) { return carried(a + b + c.set, (U64{a} + b + c.set) >> 32 != 0); }>},
    {"v_subb_co_u32 v_sub_co_ci_u32",
     each_lane<[](U a, U b, LaneBit c) { return carried(a - b - c.set, U64{a} < U64{b} + c.set); }>},
    {"v_subbrev_co_u32 v_subrev_co_ci_u32",
     each_lane<[](U a, U b, LaneBit c) { return carried(b - a - c.set, U64{b} < U64{a} + c.set); }>},
    {"v_add_u16 v_add_nc_u16", sum_of<U16, plus>},
    {"v_sub_u16 v_sub_nc_u16", sum_of<U16, minus>},
    {"v_subrev_u16", sum_of<U16, reverse_minus>},
    {"v_add_i16 v_add_nc_i16", sum_of<I16, plus>},
    {"v_sub_i16 v_sub_nc_i16", sum_of<I16, minus>},
    {"v_mul_lo_u16", each_lane<[](U16 a, U16 b) { return (static_cast<U16>(U{a} * b)); }>},
    {"v_mad_u16 v_mad_legacy_u16 v_mad_i16 v_mad_legacy_i16",
     each_lane<[](U16 a, U16 b, U16 c) { return (static_cast<U16>(U{a} * b + c)); }>},
    {"v_mad_u32_u16", each_lane<[](U16 a, U16 b, U c) { return U{a} * b + c; }>},
    {"v_mad_i32_i16", each_lane<[](I16 a, I16 b, U c) { return (static_cast<U>(I{a} * b) + c); }>},
    {"v_lshlrev_b16", each_lane<[](U16 a, U16 b) { return u16(b << (a & 15)); }>},
    {"v_lshrrev_b16", each_lane<[](U16 a, U16 b) { return (u16(b >> (a & 15))); }>},
    {"v_ashrrev_i16", each_lane<[](U16 a, I16 b) { return (static_cast<I16>(b >> (a & 15))); }>},
    {"v_cndmask_b16", each_lane<[](U16 a, U16 b, LaneBit c) { return c.set ? b : a; }>},
    {"v_mul_lo_u32", each_lane<[](U a, U b) { return a * b; }>},
    {"v_mul_hi_u32", each_lane<[](U a, U b) { return (static_cast<U>(U64{a} * b >> 32)); }>},
    {"v_mul_hi_i32", each_lane<[](I a, I b) { return (static_cast<I>(I64{a} * b >> 32)); }>},
    {"v_mul_u32_u24", each_lane<[](U a, U b) { return unsigned24(a) * unsigned24(b); }>},
    {"v_mul_i32_i24", each_lane<[](U a, U b) { return (static_cast<U>(signed24(a)) * static_cast<U>(signed24(b))); }>},
    {"v_mul_hi_u32_u24",
     each_lane<[](U a, U b) { return (static_cast<U>(U64{unsigned24(a)} * unsigned24(b) >> 32)); }>},
    {"v_mul_hi_i32_i24", each_lane<[](U a, U b) { return (static_cast<I>(I64{signed24(a)} * signed24(b) >> 32)); }>},
    {"v_mad_u32_u24", each_lane<[](U a, U b, U c) { return unsigned24(a) * unsigned24(b) + c; }>},
    {"v_mad_i32_i24",
     each_lane<[](U a, U b, U c) { return (static_cast<U>(signed24(a)) * static_cast<U>(signed24(b)) + c); }>},
    {"v_mad_u64_u32 v_mad_co_u64_u32", each_lane<[](U a, U b, U64 c) { return (wide_product<U64>(a, b, c)); }>},
    {"v_mad_i64_i32 v_mad_co_i64_i32", each_lane<[](I a, I b, I64 c) { return (wide_product<I64>(a, b, c)); }>},
    {"v_add3_u32", each_lane<[](U a, U b, U c) { return a + b + c; }>},
    {"v_lshl_add_u32", each_lane<[](U a, U b, U c) { return (a << (b & 31)) + c; }>},
    {"v_add_lshl_u32", each_lane<[](U a, U b, U c) { return (a + b) << (c & 31); }>},
    {"v_lshl_add_u64", each_lane<[](U64 a, U b, U64 c) { return (a << (b & 7)) + c; }>},
    {"v_lshl_or_b32", each_lane<[](U a, U b, U c) { return a << (b & 31) | c; }>},
    {"v_and_or_b32", each_lane<[](U a, U b, U c) { return (a & b) | c; }>},
    {"v_or3_b32", each_lane<[](U a, U b, U c) { return a | b | c; }>},
    {"v_xor3_b32", each_lane<[](U a, U b, U c) { return a ^ b ^ c; }>},
    {"v_xad_u32", each_lane<[](U a, U b, U c) { return (a ^ b) + c; }>},
    {"v_xnor_b32", each_lane<[](U a, U b) { return ~(a ^ b); }>},
    {"v_lshlrev_b32 v_dual_lshlrev_b32", each_lane<[](U a, U b) { return b << (a & 31); }>},
    {"v_lshrrev_b32", each_lane<[](U a, U b) { return (b >> (a & 31)); }>},
    {"v_ashrrev_i32", each_lane<[](U a, I b) { return (b >> (a & 31)); }>},
    {"v_lshlrev_b64", each_lane<[](U a, U64 b) { return b << (a & 63); }>},
    {"v_lshrrev_b64", each_lane<[](U a, U64 b) { return (b >> (a & 63)); }>},
    {"v_ashrrev_i64", each_lane<[](U a, I64 b) { return (b >> (a & 63)); }>},
    {"v_bfe_u32", each_lane<[](U a, U b, U c) { return bit_field_unsigned(a, b, c); }>},
    {"v_bfe_i32", each_lane<[](I a, U b, U c) { return bit_field_signed(a, b, c); }>},
    {"v_bfi_b32", each_lane<[](U a, U b, U c) { return (a & b) | (~a & c); }>},
    {"v_bfm_b32", each_lane<[](U a, U b) { return ((1u << (a & 31)) - 1) << (b & 31); }>},
    {"v_bfrev_b32", each_lane<[](U a) { return reversed(a); }>},
    {"v_bcnt_u32_b32", each_lane<[](U a, U b) { return (static_cast<U>(std::popcount(a)) + b); }>},
    {"v_ffbh_u32 v_clz_i32_u32", each_lane<[](U a) { return a == 0 ? -1 : std::countl_zero(a); }>},
    {"v_ffbl_b32 v_ctz_i32_b32", each_lane<[](U a) { return a == 0 ? -1 : std::countr_zero(a); }>},
    {"v_ffbh_i32 v_cls_i32", each_lane<[](I a) {
       const U bits = static_cast<U>(a < 0 ? ~a : a);
       return bits == 0 ? -1 : std::countl_zero(bits);
     }>},
    {"v_sad_u32", each_lane<[](U a, U b, U c) { return (a < b ? b - a : a - b) + c; }>},
    {"v_sad_u8", each_lane<[](U a, U b, U c) { return sum_of_differences(a, b, c); }>},
    {"v_perm_b32", each_lane<[](U a, U b, U c) { return permuted_bytes(a, b, c); }>},
    {"v_alignbit_b32", each_lane<[](U a, U b, U c) { return (static_cast<U>((U64{a} << 32 | b) >> (c & 31))); }>},
    {"v_alignbyte_b32", each_lane<[](U a, U b, U c) { return (static_cast<U>((U64{a} << 32 | b) >> (8 * (c & 3)))); }>},
    {"v_pack_b32_f16", each_lane<[](U16 a, U16 b) { return U{a} | U{b} << 16; }>},
    {"v_dual_add_nc_u32", each_lane<[](U a, U b) { return a + b; }>},
    {"v_dual_cndmask_b32", each_lane<[](U a, U b, LaneBit c) { return c.set ? b : a; }>, Sources::with_vcc},
    {"v_dot2_i32_i16", dot<16, true>},
    {"v_dot2c_i32_i16", dot<16, true>, Sources::with_target},
    {"v_dot2_u32_u16", dot<16, false>},
    {"v_dot4_i32_i8", dot<8, true>},
    {"v_dot4c_i32_i8", dot<8, true>, Sources::with_target},
    {"v_dot4_i32_iu8", v_dot_i32_iu<8>},
    {"v_dot4_u32_u8", dot<8, false>},
    {"v_dot8_i32_i4", dot<4, true>},
    {"v_dot8c_i32_i4", dot<4, true>, Sources::with_target},
    {"v_dot8_i32_iu4", v_dot_i32_iu<4>},
    {"v_dot8_u32_u4", dot<4, false>},
    {"v_sad_u16", each_lane<[](U a, U b, U c) {
       for (int shift : {0, 16})
         c += absolute_difference(static_cast<I>(a >> shift & 0xffff), static_cast<I>(b >> shift & 0xffff));
       return c;
     }>},
    {"v_sad_hi_u8", each_lane<[](U a, U b, U c) { return (sum_of_differences(a, b, 0) << 16) + c; }>},
    {"v_msad_u8", each_lane<[](U a, U b, U c) { return sum_of_masked_differences(a, b, c); }>},
    {"v_qsad_pk_u16_u8", each_lane<[](U64 a, U b, U64 c) { return four_sums<sum_of_differences>(a, b, c); }>},
    {"v_mqsad_pk_u16_u8", each_lane<[](U64 a, U b, U64 c) { return four_sums<sum_of_masked_differences>(a, b, c); }>},
    {"v_lerp_u8", each_lane<[](U a, U b, U c) { return averages_of_bytes(a, b, c); }>},
};

}  // namespace

const OperationTable integer_operations{Kind::vector, integer_table};

}  // namespace xtune::emulator
