// Integer and bit instructions of the vector unit.
#include <algorithm>
#include <bit>
#include <limits>

#include "emulator/arithmetic.hpp"
#include "emulator/lanes.hpp"
#include "emulator/operations.hpp"

namespace xtune::emulator {
namespace {

using U = std::uint32_t;
using I = std::int32_t;
using U16 = std::uint16_t;
using I16 = std::int16_t;
using U64 = std::uint64_t;
using I64 = std::int64_t;
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

constexpr Operation integer_table[] = {
    {"v_mov_b32", each_lane<[](U a) { return a; }>, Kind::vector},
    {"v_mov_b64", each_lane<[](U64 a) { return a; }>, Kind::vector},
    {"v_mov_b16", each_lane<[](U16 a) { return a; }>, Kind::vector},
    {"v_cndmask_b32", each_lane<[](U a, U b, LaneBit c) { return c.set ? b : a; }>, Kind::vector},
    {"v_add_u32 v_add_nc_u32", sum_of<U, plus>, Kind::vector},
    {"v_sub_u32 v_sub_nc_u32", sum_of<U, minus>, Kind::vector},
    {"v_subrev_u32 v_subrev_nc_u32", sum_of<U, reverse_minus>, Kind::vector},
    {"v_add_i32 v_add_nc_i32", sum_of<I, plus>, Kind::vector},
    {"v_sub_i32 v_sub_nc_i32", sum_of<I, minus>, Kind::vector},
    {"v_add_co_u32", each_lane<[](U a, U b) {
       return Carry{a + b, a + b < a};
     }>,
     Kind::vector},
    {"v_sub_co_u32", each_lane<[](U a, U b) {
       return Carry{a - b, a < b};
     }>,
     Kind::vector},
    {"v_subrev_co_u32", each_lane<[](U a, U b) {
       return Carry{b - a, b < a};
     }>,
     Kind::vector},
    {"v_addc_co_u32 v_add_co_ci_u32", each_lane<[](U a, U b, LaneBit c) {
       const U64 sum = U64{a} + b + c.set;
       return (Carry{static_cast<U>(sum), (sum >> 32) != 0});
     }>,
     Kind::vector},
    {"v_subb_co_u32 v_sub_co_ci_u32", each_lane<[](U a, U b, LaneBit c) {
       return Carry{a - b - c.set, U64{a} < U64{b} + c.set};
     }>,
     Kind::vector},
    {"v_subbrev_co_u32 v_subrev_co_ci_u32", each_lane<[](U a, U b, LaneBit c) {
       return Carry{b - a - c.set, U64{b} < U64{a} + c.set};
     }>,
     Kind::vector},
    {"v_add_u16 v_add_nc_u16", sum_of<U16, plus>, Kind::vector},
    {"v_sub_u16 v_sub_nc_u16", sum_of<U16, minus>, Kind::vector},
    {"v_subrev_u16", sum_of<U16, reverse_minus>, Kind::vector},
    {"v_add_i16 v_add_nc_i16", sum_of<I16, plus>, Kind::vector},
    {"v_sub_i16 v_sub_nc_i16", sum_of<I16, minus>, Kind::vector},
    {"v_mul_lo_u16", each_lane<[](U16 a, U16 b) { return (static_cast<U16>(U{a} * b)); }>, Kind::vector},
    {"v_mad_u16 v_mad_legacy_u16", each_lane<[](U16 a, U16 b, U16 c) { return (static_cast<U16>(U{a} * b + c)); }>,
     Kind::vector},
    {"v_mad_i16 v_mad_legacy_i16", each_lane<[](U16 a, U16 b, U16 c) { return (static_cast<U16>(U{a} * b + c)); }>,
     Kind::vector},
    {"v_mad_u32_u16", each_lane<[](U16 a, U16 b, U c) { return U{a} * b + c; }>, Kind::vector},
    {"v_mad_i32_i16", each_lane<[](I16 a, I16 b, U c) { return (static_cast<U>(I{a} * b) + c); }>, Kind::vector},
    {"v_min_u16", each_lane<[](U16 a, U16 b) { return a < b ? a : b; }>, Kind::vector},
    {"v_max_u16", each_lane<[](U16 a, U16 b) { return (a > b ? a : b); }>, Kind::vector},
    {"v_min_i16", each_lane<[](I16 a, I16 b) { return a < b ? a : b; }>, Kind::vector},
    {"v_max_i16", each_lane<[](I16 a, I16 b) { return (a > b ? a : b); }>, Kind::vector},
    {"v_lshlrev_b16", each_lane<[](U16 a, U16 b) { return u16(b << (a & 15)); }>, Kind::vector},
    {"v_lshrrev_b16", each_lane<[](U16 a, U16 b) { return (u16(b >> (a & 15))); }>, Kind::vector},
    {"v_ashrrev_i16", each_lane<[](U16 a, I16 b) { return (static_cast<I16>(b >> (a & 15))); }>, Kind::vector},
    {"v_and_b16", each_lane<[](U16 a, U16 b) { return u16(a & b); }>, Kind::vector},
    {"v_or_b16", each_lane<[](U16 a, U16 b) { return u16(a | b); }>, Kind::vector},
    {"v_xor_b16", each_lane<[](U16 a, U16 b) { return u16(a ^ b); }>, Kind::vector},
    {"v_not_b16", each_lane<[](U16 a) { return u16(~a); }>, Kind::vector},
    {"v_cndmask_b16", each_lane<[](U16 a, U16 b, LaneBit c) { return c.set ? b : a; }>, Kind::vector},
    {"v_mul_lo_u32", each_lane<[](U a, U b) { return a * b; }>, Kind::vector},
    {"v_mul_hi_u32", each_lane<[](U a, U b) { return (static_cast<U>(U64{a} * b >> 32)); }>, Kind::vector},
    {"v_mul_hi_i32", each_lane<[](I a, I b) { return (static_cast<I>(I64{a} * b >> 32)); }>, Kind::vector},
    {"v_mul_u32_u24", each_lane<[](U a, U b) { return unsigned24(a) * unsigned24(b); }>, Kind::vector},
    {"v_mul_i32_i24", each_lane<[](U a, U b) { return (static_cast<U>(signed24(a)) * static_cast<U>(signed24(b))); }>,
     Kind::vector},
    {"v_mul_hi_u32_u24", each_lane<[](U a, U b) { return (static_cast<U>(U64{unsigned24(a)} * unsigned24(b) >> 32)); }>,
     Kind::vector},
    {"v_mul_hi_i32_i24", each_lane<[](U a, U b) { return (static_cast<I>(I64{signed24(a)} * signed24(b) >> 32)); }>,
     Kind::vector},
    {"v_mad_u32_u24", each_lane<[](U a, U b, U c) { return unsigned24(a) * unsigned24(b) + c; }>, Kind::vector},
    {"v_mad_i32_i24",
     each_lane<[](U a, U b, U c) { return (static_cast<U>(signed24(a)) * static_cast<U>(signed24(b)) + c); }>,
     Kind::vector},
    {"v_mad_u64_u32 v_mad_co_u64_u32", each_lane<[](U a, U b, U64 c) { return (wide_product<U64>(a, b, c)); }>,
     Kind::vector},
    {"v_mad_i64_i32 v_mad_co_i64_i32", each_lane<[](I a, I b, I64 c) { return (wide_product<I64>(a, b, c)); }>,
     Kind::vector},
    {"v_add3_u32", each_lane<[](U a, U b, U c) { return a + b + c; }>, Kind::vector},
    {"v_lshl_add_u32", each_lane<[](U a, U b, U c) { return (a << (b & 31)) + c; }>, Kind::vector},
    {"v_add_lshl_u32", each_lane<[](U a, U b, U c) { return (a + b) << (c & 31); }>, Kind::vector},
    {"v_lshl_add_u64", each_lane<[](U64 a, U b, U64 c) { return (a << (b & 7)) + c; }>, Kind::vector},
    {"v_lshl_or_b32", each_lane<[](U a, U b, U c) { return a << (b & 31) | c; }>, Kind::vector},
    {"v_and_or_b32", each_lane<[](U a, U b, U c) { return (a & b) | c; }>, Kind::vector},
    {"v_or3_b32", each_lane<[](U a, U b, U c) { return a | b | c; }>, Kind::vector},
    {"v_xor3_b32", each_lane<[](U a, U b, U c) { return a ^ b ^ c; }>, Kind::vector},
    {"v_xad_u32", each_lane<[](U a, U b, U c) { return (a ^ b) + c; }>, Kind::vector},
    {"v_and_b32", each_lane<[](U a, U b) { return a & b; }>, Kind::vector},
    {"v_or_b32", each_lane<[](U a, U b) { return a | b; }>, Kind::vector},
    {"v_xor_b32", each_lane<[](U a, U b) { return a ^ b; }>, Kind::vector},
    {"v_xnor_b32", each_lane<[](U a, U b) { return ~(a ^ b); }>, Kind::vector},
    {"v_not_b32", each_lane<[](U a) { return ~a; }>, Kind::vector},
    {"v_lshlrev_b32", each_lane<[](U a, U b) { return b << (a & 31); }>, Kind::vector},
    {"v_lshrrev_b32", each_lane<[](U a, U b) { return (b >> (a & 31)); }>, Kind::vector},
    {"v_ashrrev_i32", each_lane<[](U a, I b) { return (b >> (a & 31)); }>, Kind::vector},
    {"v_lshlrev_b64", each_lane<[](U a, U64 b) { return b << (a & 63); }>, Kind::vector},
    {"v_lshrrev_b64", each_lane<[](U a, U64 b) { return (b >> (a & 63)); }>, Kind::vector},
    {"v_ashrrev_i64", each_lane<[](U a, I64 b) { return (b >> (a & 63)); }>, Kind::vector},
    {"v_bfe_u32", each_lane<[](U a, U b, U c) { return bit_field_unsigned(a, b, c); }>, Kind::vector},
    {"v_bfe_i32", each_lane<[](I a, U b, U c) { return bit_field_signed(a, b, c); }>, Kind::vector},
    {"v_bfi_b32", each_lane<[](U a, U b, U c) { return (a & b) | (~a & c); }>, Kind::vector},
    {"v_bfm_b32", each_lane<[](U a, U b) { return ((1u << (a & 31)) - 1) << (b & 31); }>, Kind::vector},
    {"v_bfrev_b32", each_lane<[](U a) { return reversed(a); }>, Kind::vector},
    {"v_bcnt_u32_b32", each_lane<[](U a, U b) { return (static_cast<U>(std::popcount(a)) + b); }>, Kind::vector},
    {"v_ffbh_u32 v_clz_i32_u32", each_lane<[](U a) { return a == 0 ? -1 : std::countl_zero(a); }>, Kind::vector},
    {"v_ffbl_b32 v_ctz_i32_b32", each_lane<[](U a) { return a == 0 ? -1 : std::countr_zero(a); }>, Kind::vector},
    {"v_ffbh_i32 v_cls_i32", each_lane<[](I a) {
       const U bits = static_cast<U>(a < 0 ? ~a : a);
       return bits == 0 ? -1 : std::countl_zero(bits);
     }>,
     Kind::vector},
    {"v_min_u32", each_lane<[](U a, U b) { return a < b ? a : b; }>, Kind::vector},
    {"v_max_u32", each_lane<[](U a, U b) { return (a > b ? a : b); }>, Kind::vector},
    {"v_min_i32", each_lane<[](I a, I b) { return a < b ? a : b; }>, Kind::vector},
    {"v_max_i32", each_lane<[](I a, I b) { return (a > b ? a : b); }>, Kind::vector},
    {"v_min3_u16", each_lane<[](U16 a, U16 b, U16 c) { return std::min(a, std::min(b, c)); }>, Kind::vector},
    {"v_max3_u16", each_lane<[](U16 a, U16 b, U16 c) { return std::max(a, std::max(b, c)); }>, Kind::vector},
    {"v_min3_i16", each_lane<[](I16 a, I16 b, I16 c) { return std::min(a, std::min(b, c)); }>, Kind::vector},
    {"v_max3_i16", each_lane<[](I16 a, I16 b, I16 c) { return std::max(a, std::max(b, c)); }>, Kind::vector},
    {"v_med3_i16", each_lane<[](I16 a, I16 b, I16 c) { return median(a, b, c); }>, Kind::vector},
    {"v_med3_u16", each_lane<[](U16 a, U16 b, U16 c) { return median(a, b, c); }>, Kind::vector},
    {"v_min3_u32", each_lane<[](U a, U b, U c) { return std::min(a, std::min(b, c)); }>, Kind::vector},
    {"v_max3_u32", each_lane<[](U a, U b, U c) { return std::max(a, std::max(b, c)); }>, Kind::vector},
    {"v_min3_i32", each_lane<[](I a, I b, I c) { return std::min(a, std::min(b, c)); }>, Kind::vector},
    {"v_max3_i32", each_lane<[](I a, I b, I c) { return std::max(a, std::max(b, c)); }>, Kind::vector},
    {"v_maxmin_i32", each_lane<[](I a, I b, I c) { return std::min(std::max(a, b), c); }>, Kind::vector},
    {"v_minmax_i32", each_lane<[](I a, I b, I c) { return std::max(std::min(a, b), c); }>, Kind::vector},
    {"v_maxmin_u32", each_lane<[](U a, U b, U c) { return std::min(std::max(a, b), c); }>, Kind::vector},
    {"v_minmax_u32", each_lane<[](U a, U b, U c) { return std::max(std::min(a, b), c); }>, Kind::vector},
    {"v_med3_u32", each_lane<[](U a, U b, U c) { return median(a, b, c); }>, Kind::vector},
    {"v_med3_i32", each_lane<[](I a, I b, I c) { return median(a, b, c); }>, Kind::vector},
    {"v_sad_u32", each_lane<[](U a, U b, U c) { return (a < b ? b - a : a - b) + c; }>, Kind::vector},
    {"v_sad_u8", each_lane<[](U a, U b, U c) { return sum_of_differences(a, b, c); }>, Kind::vector},
    {"v_perm_b32", each_lane<[](U a, U b, U c) { return permuted_bytes(a, b, c); }>, Kind::vector},
    {"v_alignbit_b32", each_lane<[](U a, U b, U c) { return (static_cast<U>((U64{a} << 32 | b) >> (c & 31))); }>,
     Kind::vector},
    {"v_alignbyte_b32", each_lane<[](U a, U b, U c) { return (static_cast<U>((U64{a} << 32 | b) >> (8 * (c & 3)))); }>,
     Kind::vector},
    {"v_pack_b32_f16", each_lane<[](U16 a, U16 b) { return U{a} | U{b} << 16; }>, Kind::vector},
    {"v_dual_mov_b32", each_lane<[](U a) { return a; }>, Kind::vector},
    {"v_dual_add_nc_u32", each_lane<[](U a, U b) { return a + b; }>, Kind::vector},
    {"v_dual_and_b32", each_lane<[](U a, U b) { return a & b; }>, Kind::vector},
    {"v_dual_lshlrev_b32", each_lane<[](U a, U b) { return b << (a & 31); }>, Kind::vector},
    {"v_dual_cndmask_b32", each_lane<[](U a, U b, LaneBit c) { return c.set ? b : a; }>, Kind::vector,
     Sources::with_vcc},
    {"v_dot2_i32_i16", dot<16, true>, Kind::vector},
    {"v_dot2c_i32_i16", dot<16, true>, Kind::vector, Sources::with_target},
    {"v_dot2_u32_u16", dot<16, false>, Kind::vector},
    {"v_dot4_i32_i8", dot<8, true>, Kind::vector},
    {"v_dot4c_i32_i8", dot<8, true>, Kind::vector, Sources::with_target},
    {"v_dot4_i32_iu8", v_dot_i32_iu<8>, Kind::vector},
    {"v_dot4_u32_u8", dot<8, false>, Kind::vector},
    {"v_dot8_i32_i4", dot<4, true>, Kind::vector},
    {"v_dot8c_i32_i4", dot<4, true>, Kind::vector, Sources::with_target},
    {"v_dot8_i32_iu4", v_dot_i32_iu<4>, Kind::vector},
    {"v_dot8_u32_u4", dot<4, false>, Kind::vector},
    {"v_sad_u16", each_lane<[](U a, U b, U c) {
       for (int shift : {0, 16})
         c += absolute_difference(static_cast<I>(a >> shift & 0xffff), static_cast<I>(b >> shift & 0xffff));
       return c;
     }>,
     Kind::vector},
    {"v_sad_hi_u8", each_lane<[](U a, U b, U c) { return (sum_of_differences(a, b, 0) << 16) + c; }>, Kind::vector},
    {"v_msad_u8", each_lane<[](U a, U b, U c) { return sum_of_masked_differences(a, b, c); }>, Kind::vector},
    {"v_qsad_pk_u16_u8", each_lane<[](U64 a, U b, U64 c) { return four_sums<sum_of_differences>(a, b, c); }>,
     Kind::vector},
    {"v_mqsad_pk_u16_u8", each_lane<[](U64 a, U b, U64 c) { return four_sums<sum_of_masked_differences>(a, b, c); }>,
     Kind::vector},
    {"v_lerp_u8", each_lane<[](U a, U b, U c) { return averages_of_bytes(a, b, c); }>, Kind::vector},
};

}  // namespace

std::span<const Operation> integer_operations() { return integer_table; }

}  // namespace xtune::emulator
