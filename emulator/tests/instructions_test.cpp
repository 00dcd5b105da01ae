// Single instructions, assembled for each architecture, against the formulas of AMD's documents.
#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <fstream>
#include <iterator>

#include "emulator/arithmetic.hpp"
#include "emulator/half.hpp"
#include "emulator/operations.hpp"
#include "emulator/tests/snippet.hpp"

using namespace xtune::test;
namespace emulator = xtune::emulator;

namespace {

using U = std::uint32_t;
using U64 = std::uint64_t;

float real(U bits) { return std::bit_cast<float>(bits); }
U bits(float value) { return std::bit_cast<U>(value); }

/// Both NaN, whatever their payloads, or the same bits.
bool same(U found, U expected, bool is_real) {
  return found == expected || (is_real && std::isnan(real(found)) && std::isnan(real(expected)));
}

const char* const cdna = "gfx90a gfx942";
const char* const rdna = "gfx1100 gfx1201";

Words one(U value) { return {value, 0, 0, 0}; }
Words one(float value) { return {bits(value), 0, 0, 0}; }

/// v0 of another lane.
U of_lane(int lane) {
  static const std::vector<Words> inputs = edge_inputs(64);
  return inputs[static_cast<unsigned>(lane)][0];
}

Words clamped(const Words& words) {
  Words result{};
  for (std::size_t i = 0; i < words.size(); ++i) {
    const float value = real(words[i]);
    result[i] = bits(std::isnan(value) || value < 0 ? 0.0f : std::fmin(value, 1.0f));
  }
  return result;
}

double half(U bits) { return emulator::to_double(emulator::Half{static_cast<std::uint16_t>(bits)}); }
U half_code(double value) { return emulator::half_from(value).bits; }

int class_of_half(U code) {
  const U size = code & 0x7fff, negative = code >> 15 & 1;
  if (size > 0x7c00) return size & 0x200 ? 1 : 0;
  if (size == 0x7c00) return negative ? 2 : 9;
  if (size == 0) return negative ? 5 : 6;
  return size < 0x400 ? (negative ? 4 : 7) : negative ? 3 : 8;
}

/// The code of 8 bits that is the nearest to a number, found among all of them; of two, the even one.
U nearest_f8(float value, int mantissa, bool fnuz) {
  const U sign = std::signbit(value) ? 0x80 : 0, nan = fnuz ? 0x80 : sign | 0x7f;
  if (std::isnan(value)) return nan;
  const bool has_infinity = !fnuz && mantissa == 2;
  const U largest = fnuz ? 0x7f : has_infinity ? 0x7b : 0x7e;
  const auto number = [&](U code) {
    return double{emulator::from_f8(static_cast<std::uint8_t>(code), mantissa, fnuz)};
  };
  const double size = std::fabs(double{value}), last = number(largest), step = last - number(largest - 1);
  if (size >= last + step / 2) return has_infinity ? sign | 0x7c : nan;
  U best = 0;
  for (U code = 1; code <= largest; ++code) {
    const double here = std::fabs(size - number(code)), there = std::fabs(size - number(best));
    if (here < there || (here == there && code % 2 == 0)) best = code;
  }
  return best == 0 && fnuz ? 0 : sign | best;
}

float small_number(U word) { return std::ldexp(static_cast<float>(static_cast<std::int32_t>(word)), -6); }

/// Two codes of the two numbers that the snippets make of v0 and v1.
U pair_of_f8(const Words& v, int mantissa, bool fnuz) {
  return nearest_f8(small_number(v[0]), mantissa, fnuz) | nearest_f8(small_number(v[1]), mantissa, fnuz) << 8;
}
const std::string two_small_numbers =
    "v_cvt_f32_i32 v8, v0\nv_cvt_f32_i32 v9, v1\nv_ldexp_f32 v8, v8, -6\nv_ldexp_f32 v9, v9, -6\n";
const std::string pairs_of_f8 = two_small_numbers +
                                "v_mov_b32 v4, v2\nv_mov_b32 v5, v2\nv_cvt_pk_fp8_f32 v4, v8, v9\n"
                                "v_cvt_pk_bf8_f32 v5, v8, v9 op_sel:[0,0,1]\n";

U f8(U code, int mantissa, bool fnuz) {
  return bits(emulator::from_f8(static_cast<std::uint8_t>(code), mantissa, fnuz));
}

/// Sums of products of parts of a register.
U dot(const Words& v, int part, bool a_signed, bool b_signed) {
  U sum = v[2];
  for (int i = 0; i < 32; i += part) {
    const auto number = [&](U word, bool is_signed) {
      const std::int64_t value = word >> i & ((1u << part) - 1);
      return is_signed && value >> (part - 1) ? value - (std::int64_t{1} << part) : value;
    };
    sum += static_cast<U>(number(v[0], a_signed) * number(v[1], b_signed));
  }
  return sum;
}

U byte_difference(U a, U b, int byte) {
  const int x = static_cast<int>(a >> (8 * byte) & 255), y = static_cast<int>(b >> (8 * byte) & 255);
  return static_cast<U>(std::abs(x - y));
}
U64 four_differences(const Words& v, bool masked) {
  U64 result = 0;
  for (int i = 0; i < 4; ++i) {
    U sum = static_cast<U>((v[2] | U64{v[3]} << 32) >> (16 * i) & 0xffff);
    const auto part = static_cast<U>((v[0] | U64{v[1]} << 32) >> (8 * i));
    for (int byte = 0; byte < 4; ++byte)
      if (!masked || (v[2] >> (8 * byte) & 255) != 0) sum += byte_difference(part, v[2], byte);
    result |= U64{sum & 0xffff} << (16 * i);
  }
  return result;
}

/// The number of bf16 that is the nearest to a sum; of two, the even one. NaN: a quiet one.
U bf16_sum(U a, U b) {
  const float sum = real(a << 16) + real(b << 16);
  if (!std::isfinite(sum)) return bits(sum) >> 16 | (std::isnan(sum) ? 0x40 : 0);
  const U below = bits(sum) >> 16, rest = bits(sum) & 0xffff;
  return rest > 0x8000 || (rest == 0x8000 && below % 2 == 1) ? below + 1 : below;
}

template <class T>
T least(T a, T b) {
  return std::isnan(a) ? b : std::isnan(b) ? a : emulator::minimum_number(a, b);
}
template <class T>
T most(T a, T b) {
  return std::isnan(a) ? b : std::isnan(b) ? a : emulator::maximum_number(a, b);
}
/// The maximum of the minimum of two halves and a third one, and the minimum of the maximum.
template <class F>
Words between(const Words& v, F low, F high) {
  const double a = half(v[0]), b = half(v[1]), c = half(v[2]);
  return {half_code(high(low(a, b), c)), half_code(low(high(a, b), c)), 0, 0};
}

/// Results are compared as f32 where the name ends in "f32": any NaN is a NaN.
const std::vector<Snippet> snippets = {
    {"shift_left", "v_lshlrev_b32 v4, v0, v1", "", [](const Words& v, int) { return one(v[1] << (v[0] & 31)); }},
    {"shift_right_signed", "v_ashrrev_i32 v4, v0, v1", "",
     [](const Words& v, int) { return one(static_cast<U>(static_cast<std::int32_t>(v[1]) >> (v[0] & 31))); }},
    {"shift_left_64", "v_lshlrev_b64 v[4:5], v0, v[2:3]", "",
     [](const Words& v, int) {
       const U64 wide = (v[2] | U64{v[3]} << 32) << (v[0] & 63);
       return Words{static_cast<U>(wide), static_cast<U>(wide >> 32), 0, 0};
     }},
    {"bit_field_signed", "v_bfe_i32 v4, v0, v1, v2", "",
     [](const Words& v, int) {
       std::int64_t value = static_cast<std::int32_t>(v[0]);
       const int width = static_cast<int>(v[2] & 31);
       value >>= v[1] & 31;
       if (width == 0) return one(0u);
       return one(static_cast<U>(static_cast<std::int64_t>(static_cast<U64>(value) << (64 - width)) >> (64 - width)));
     }},
    {"add_with_carries", "v_add_co_u32 v4, vcc, v0, v2\nv_addc_co_u32 v5, vcc, v1, v3, vcc", cdna,
     [](const Words& v, int) {
       const U64 sum = (v[0] | U64{v[1]} << 32) + (v[2] | U64{v[3]} << 32);
       return Words{static_cast<U>(sum), static_cast<U>(sum >> 32), 0, 0};
     }},
    {"add_with_carries_32_lanes", "v_add_co_u32 v4, vcc_lo, v0, v2\nv_add_co_ci_u32 v5, vcc_lo, v1, v3, vcc_lo", rdna,
     [](const Words& v, int) {
       const U64 sum = (v[0] | U64{v[1]} << 32) + (v[2] | U64{v[3]} << 32);
       return Words{static_cast<U>(sum), static_cast<U>(sum >> 32), 0, 0};
     }},
    {"subtract_with_borrow", "v_sub_co_u32 v4, vcc, v0, v2\nv_subb_co_u32 v5, vcc, v1, v3, vcc", cdna,
     [](const Words& v, int) {
       const U64 rest = (v[0] | U64{v[1]} << 32) - (v[2] | U64{v[3]} << 32);
       return Words{static_cast<U>(rest), static_cast<U>(rest >> 32), 0, 0};
     }},
    {"high_product", "v_mul_hi_u32 v4, v0, v1\nv_mul_hi_i32 v5, v0, v1", "",
     [](const Words& v, int) {
       const auto product = std::int64_t{static_cast<std::int32_t>(v[0])} * static_cast<std::int32_t>(v[1]);
       return Words{static_cast<U>(U64{v[0]} * v[1] >> 32), static_cast<U>(product >> 32), 0, 0};
     }},
    {"wide_product_and_sum", "v_mad_u64_u32 v[4:5], MASK, v0, v1, v[2:3]", "gfx90a gfx942",
     [](const Words& v, int) {
       const U64 sum = U64{v[0]} * v[1] + (v[2] | U64{v[3]} << 32);
       return Words{static_cast<U>(sum), static_cast<U>(sum >> 32), 0, 0};
     }},
    {"bytes_by_selector", "v_perm_b32 v4, v0, v1, v2", "",
     [](const Words& v, int) {
       U result = 0;
       for (int i = 0; i < 4; ++i) {
         const U which = v[2] >> (8 * i) & 255;
         const auto byte = [&](U n) { return (n < 4 ? v[1] >> (8 * n) : v[0] >> (8 * (n - 4))) & 255; };
         const U sign[] = {v[1] >> 15, v[1] >> 31, v[0] >> 15, v[0] >> 31};
         const U chosen = which > 12 ? 255 : which == 12 ? 0 : which >= 8 ? (sign[which - 8] & 1) * 255 : byte(which);
         result |= chosen << (8 * i);
       }
       return one(result);
     }},
    {"count_leading_zeros", "v_ffbh_u32 v4, v0", cdna,
     [](const Words& v, int) { return one(v[0] == 0 ? ~0u : static_cast<U>(std::countl_zero(v[0]))); }},
    {"choose_by_mask", "v_cmp_lt_i32 MASK, v0, v1\nv_cndmask_b32 v4, v2, v3, MASK", "",
     [](const Words& v, int) {
       return one(static_cast<std::int32_t>(v[0]) < static_cast<std::int32_t>(v[1]) ? v[3] : v[2]);
     }},
    {"compare_unordered", "v_cmp_nlt_f32 MASK, v0, v1\nv_cndmask_b32 v4, 0, 1, MASK", "",
     [](const Words& v, int) { return one(real(v[0]) < real(v[1]) ? 0u : 1u); }},
    {"class_of_number", "v_cmp_class_f32 MASK, v0, v1\nv_cndmask_b32 v4, 0, 1, MASK", "",
     [](const Words& v, int) {
       const U size = v[0] & 0x7fffffff, negative = v[0] >> 31;
       int bit = 0;
       if (size > 0x7f800000)
         bit = v[0] & 0x400000 ? 1 : 0;
       else if (size == 0x7f800000)
         bit = negative ? 2 : 9;
       else if (size == 0)
         bit = negative ? 5 : 6;
       else if (size < 0x800000)
         bit = negative ? 4 : 7;
       else
         bit = negative ? 3 : 8;
       return one(v[1] >> bit & 1);
     }},
    {"sum_f32", "v_add_f32 v4, v0, v1", "", [](const Words& v, int) { return one(real(v[0]) + real(v[1])); }},
    {"product_with_signs_f32", "v_mul_f32 v4, -v0, |v1|", "",
     [](const Words& v, int) { return one(-real(v[0]) * std::fabs(real(v[1]))); }},
    {"fused_f32", "v_fma_f32 v4, v0, v1, v2", "",
     [](const Words& v, int) { return one(std::fma(real(v[0]), real(v[1]), real(v[2]))); }},
    {"accumulated_f32", "v_mov_b32 v4, v2\nv_fmac_f32 v4, v0, v1", "",
     [](const Words& v, int) { return one(std::fma(real(v[0]), real(v[1]), real(v[2]))); }},
    {"scalar_transcendental",
     "s_mov_b32 s10, 0x41800000\ns_mov_b32 s11, 0x3e800000\nv_s_rsq_f32 s12, s10\nv_s_rcp_f32 s13, -s11\n"
     "v_s_exp_f32 s14, 4.0\nv_s_log_f32 s15, s10\nv_mov_b32 v4, s12\nv_mov_b32 v5, s13\nv_mov_b32 v6, s14\n"
     "v_s_sqrt_f32 s12, s10\nv_mov_b32 v7, s15\nv_add_f32 v7, s12, v7",
     "gfx1201",
     [](const Words&, int) {
       return Words{std::bit_cast<U>(0.25f), std::bit_cast<U>(-4.0f), std::bit_cast<U>(16.0f), std::bit_cast<U>(8.0f)};
     }},
    {"scalar_transcendental_f16",
     "s_mov_b32 s10, 0xdead4c00\ns_mov_b32 s11, 0xdead3400\nv_s_rsq_f16 s12, s10\nv_s_rcp_f16 s13, -s11\n"
     "v_s_exp_f16 s14, 4.0\nv_s_log_f16 s15, s10\nv_s_sqrt_f16 s16, s10 mul:2\nv_mov_b32 v4, s12\nv_mov_b32 v5, s13\n"
     "s_pack_ll_b32_b16 s14, s14, s15\nv_mov_b32 v6, s14\nv_mov_b32 v7, s16",
     "gfx1201",
     [](const Words&, int) {
       return Words{half_code(0.25), half_code(-4), half_code(16) | half_code(4) << 16, half_code(8)};
     }},
    {"scalar_sums_f16",
     "s_mov_b32 s10, 0xbeef4248\ns_mov_b32 s11, 0xbeefc101\ns_add_f16 s12, s10, s11\ns_sub_f16 s13, s10, s11\n"
     "s_mul_f16 s14, s10, s11\ns_mov_b32 s15, 0xbeef3c01\ns_fmac_f16 s15, s10, s11\nv_mov_b32 v4, s12\n"
     "v_mov_b32 v5, s13\nv_mov_b32 v6, s14\nv_mov_b32 v7, s15",
     "gfx1201",
     [](const Words&, int) {
       const double a = half(0x4248), b = half(0xc101);
       return Words{half_code(a + b), half_code(a - b), half_code(a * b), half_code(std::fma(a, b, half(0x3c01)))};
     }},
    {"scalar_extremes_f16",
     "s_mov_b32 s10, 0xbeef7e00\ns_mov_b32 s11, 0xbeefc101\ns_min_num_f16 s12, s10, s11\ns_max_num_f16 s13, s11, 0\n"
     "s_minimum_f16 s14, s11, s10\ns_maximum_f16 s15, s11, 1.0\nv_mov_b32 v4, s12\nv_mov_b32 v5, s13\n"
     "v_mov_b32 v6, s14\nv_mov_b32 v7, s15",
     "gfx1201",
     [](const Words&, int) {
       return Words{0xc101, 0, 0x7e00, half_code(1)};
     }},
    {"scalar_rounding_f16",
     "s_mov_b32 s10, 0x4280\ns_floor_f16 s12, s10\ns_ceil_f16 s13, s10\ns_mov_b32 s11, 0xc100\n"
     "s_trunc_f16 s14, s11\ns_rndne_f16 s15, s11\nv_mov_b32 v4, s12\nv_mov_b32 v5, s13\nv_mov_b32 v6, s14\n"
     "v_mov_b32 v7, s15",
     "gfx1201",
     [](const Words&, int) {  // 3.25 and -2.5
       return Words{half_code(3), half_code(4), half_code(-2), half_code(-2)};
     }},
    {"scalar_conversions_f16",
     "s_mov_b32 s10, 0x477fffff\ns_mov_b32 s11, 0xbf801fff\ns_cvt_pk_rtz_f16_f32 s12, s10, s11\ns_mov_b32 s13, "
     "0x4248c101\n"
     "s_cvt_hi_f32_f16 s14, s13\ns_cvt_f32_f16 s15, s13\ns_cvt_f16_f32 s16, s11\nv_mov_b32 v4, s12\nv_mov_b32 v5, s14\n"
     "v_mov_b32 v6, s15\nv_mov_b32 v7, s16",
     "gfx1201",
     [](const Words&, int) {
       return Words{0xbc007bff, bits(static_cast<float>(half(0x4248))), bits(static_cast<float>(half(0xc101))), 0xbc01};
     }},
    {"scalar_comparisons_f16",
     "s_mov_b32 s10, 0xbeef4248\ns_mov_b32 s11, 0xbeef7e00\ns_cmp_gt_f16 s10, 1.0\ns_cselect_b32 s12, 1, 2\n"
     "s_cmp_lg_f16 s10, s11\ns_cselect_b32 s13, 1, 2\ns_cmp_nlt_f16 s10, s11\ns_cselect_b32 s14, 1, 2\n"
     "s_cmp_u_f16 s10, s11\ns_cselect_b32 s15, 1, 2\nv_mov_b32 v4, s12\nv_mov_b32 v5, s13\nv_mov_b32 v6, s14\n"
     "v_mov_b32 v7, s15",
     "gfx1201",
     [](const Words&, int) {
       return Words{1, 2, 1, 1};
     }},
    {"scalar_minimum_f32",
     "s_mov_b32 s10, 0x7fc00000\ns_minimum_f32 s12, s10, 1.0\ns_maximum_f32 s13, 2.0, 1.0\nv_mov_b32 v4, s12\n"
     "v_mov_b32 v5, s13",
     "gfx1201",
     [](const Words&, int) {
       return Words{0x7fc00000, bits(2.0f), 0, 0};
     }},
    {"between_halves", "v_minmax_f16 v4, v0, v1, v2\nv_maxmin_f16 v5, v0, v1, v2", "gfx1100",
     [](const Words& v, int) { return between(v, least<double>, most<double>); }},
    {"between_halves_num",
     "v_minmax_num_f16 v4, v0, v1, v2\nv_maxmin_num_f16 v5, v0, v1, v2\nv_min3_num_f16 v6, v0, v1, v2\n"
     "v_max3_num_f16 v7, v0, v1, v2",
     "gfx1201",
     [](const Words& v, int) {
       Words result = between(v, least<double>, most<double>);
       result[2] = half_code(least(least(half(v[0]), half(v[1])), half(v[2])));
       result[3] = half_code(most(most(half(v[0]), half(v[1])), half(v[2])));
       return result;
     }},
    {"between_halves_or_nan", "v_minimummaximum_f16 v4, v0, v1, v2\nv_maximumminimum_f16 v5, v0, v1, v2", "gfx1201",
     [](const Words& v, int) { return between(v, emulator::minimum<double>, emulator::maximum<double>); }},
    {"extremes_of_three_or_nan",
     "v_minimum3_f16 v4, v0, v1, v2\nv_maximum3_f16 v5, v0, v1, v2\nv_minimum_f16 v6, v0, v1\nv_maximum_f16 v7, v0, v1",
     "gfx1201",
     [](const Words& v, int) {
       const double a = half(v[0]), b = half(v[1]), c = half(v[2]);
       const double low = emulator::minimum(a, b), high = emulator::maximum(a, b);
       return Words{half_code(emulator::minimum(low, c)), half_code(emulator::maximum(high, c)), half_code(low),
                    half_code(high)};
     }},
    {"extremes_or_nan_f32",
     "v_minimum3_f32 v4, v0, v1, v2\nv_maximum3_f32 v5, v0, v1, v2\nv_minimummaximum_f32 v6, v0, v1, v2\n"
     "v_maximumminimum_f32 v7, v0, v1, v2",
     "gfx1201",
     [](const Words& v, int) {
       const float a = real(v[0]), b = real(v[1]), c = real(v[2]);
       const float low = emulator::minimum(a, b), high = emulator::maximum(a, b);
       return Words{bits(emulator::minimum(low, c)), bits(emulator::maximum(high, c)), bits(emulator::maximum(low, c)),
                    bits(emulator::minimum(high, c))};
     }},
    {"minimum_or_nan_f64", "v_minimum_f64 v[4:5], v[0:1], v[2:3]\nv_maximum_f64 v[6:7], v[0:1], v[2:3]", "gfx1201",
     [](const Words& v, int) {
       const auto a = std::bit_cast<double>(v[0] | U64{v[1]} << 32), b = std::bit_cast<double>(v[2] | U64{v[3]} << 32);
       const auto low = std::bit_cast<U64>(emulator::minimum(a, b)), high = std::bit_cast<U64>(emulator::maximum(a, b));
       return Words{static_cast<U>(low), static_cast<U>(low >> 32), static_cast<U>(high), static_cast<U>(high >> 32)};
     }},
    {"packed_minimum_or_nan", "v_pk_minimum_f16 v4, v0, v1\nv_pk_maximum_f16 v5, v0, v1", "gfx1201",
     [](const Words& v, int) {
       Words result{};
       for (const int shift : {0, 16}) {
         const double a = half(v[0] >> shift), b = half(v[1] >> shift);
         result[0] |= half_code(emulator::minimum(a, b)) << shift;
         result[1] |= half_code(emulator::maximum(a, b)) << shift;
       }
       return result;
     }},
    {"middle_of_signed_shorts", "v_max3_i16 v4, v0, v1, v2\nv_min3_i16 v5, v0, v1, v2\nv_med3_i16 v6, v0, v1, v2", "",
     [](const Words& v, int) {
       std::int16_t number[3];
       for (std::size_t i = 0; i < 3; ++i) number[i] = static_cast<std::int16_t>(v[i]);
       std::sort(number, number + 3);
       const auto code = [](std::int16_t value) { return U{static_cast<std::uint16_t>(value)}; };
       return Words{code(number[2]), code(number[0]), code(number[1]), 0};
     }},
    {"clamped_packed_sums",
     "v_pk_add_u16 v4, v0, v1 clamp\nv_pk_sub_u16 v5, v0, v1 clamp\nv_pk_add_i16 v6, v0, v1 clamp\n"
     "v_pk_sub_i16 v7, v0, v1 clamp",
     "",
     [](const Words& v, int) {
       Words result{};
       for (const int shift : {0, 16}) {
         const int a = static_cast<int>(v[0] >> shift & 0xffff), b = static_cast<int>(v[1] >> shift & 0xffff);
         const int x = static_cast<std::int16_t>(a), y = static_cast<std::int16_t>(b);
         const int sums[] = {std::min(a + b, 65535), std::max(a - b, 0), std::clamp(x + y, -32768, 32767),
                             std::clamp(x - y, -32768, 32767)};
         for (std::size_t i = 0; i < 4; ++i) result[i] |= (static_cast<U>(sums[i]) & 0xffff) << shift;
       }
       return result;
     }},
    {"clamped_short_sums",
     "v_add_u16 v4, v0, v1 clamp\nv_sub_u16 v5, v0, v1 clamp\nv_add_i16 v6, v0, v1 clamp\nv_sub_i16 v7, v0, v1 clamp",
     cdna,
     [](const Words& v, int) {
       const int a = static_cast<int>(v[0] & 0xffff), b = static_cast<int>(v[1] & 0xffff);
       const int x = static_cast<std::int16_t>(a), y = static_cast<std::int16_t>(b);
       const auto code = [](int value) { return static_cast<U>(value) & 0xffff; };
       return Words{code(std::min(a + b, 65535)), code(std::max(a - b, 0)), code(std::clamp(x + y, -32768, 32767)),
                    code(std::clamp(x - y, -32768, 32767))};
     }},
    {"indexed_registers",
     "s_mov_b32 s10, 1\nv_mov_b32 v8, v0\nv_mov_b32 v9, v1\ns_set_gpr_idx_on s10, gpr_idx(SRC0)\nv_mov_b32 v4, v8\n"
     "s_set_gpr_idx_off\ns_set_gpr_idx_on s10, gpr_idx(DST)\nv_mov_b32 v4, v2\ns_set_gpr_idx_off\n"
     "s_set_gpr_idx_on s10, gpr_idx(SRC1,DST)\nv_add_u32 v5, v0, v8\ns_set_gpr_idx_off\nv_mov_b32 v7, v8",
     "gfx90a",
     [](const Words& v, int) {
       return Words{v[1], v[2], v[0] + v[1], v[0]};
     }},
    {"middle_of_halves", "v_max3_f16 v4, v0, v1, v2\nv_min3_f16 v5, v0, v1, v2\nv_med3_f16 v6, v0, v0, v0",
     "gfx90a gfx942",
     [](const Words& v, int) {
       const auto number = [&](int i) {
         return emulator::to_double(emulator::Half{static_cast<std::uint16_t>(v[static_cast<std::size_t>(i)])});
       };
       const auto code = [](double x) { return U{emulator::half_from(x).bits}; };
       const auto most = [](double a, double b) { return emulator::maximum_number(a, b); };
       const auto least = [](double a, double b) { return emulator::minimum_number(a, b); };
       return Words{code(most(most(number(0), number(1)), number(2))),
                    code(least(least(number(0), number(1)), number(2))), code(number(0)), 0};
     }},
    {"short_product_and_sum", "v_mad_legacy_u16 v4, v0, v1, v2", cdna,
     [](const Words& v, int) { return one((v[0] * v[1] + v[2]) & 0xffff); }},
    {"middle_of_shorts", "v_max3_u16 v4, v0, v1, v2\nv_min3_u16 v5, v0, v1, v2\nv_med3_u16 v6, v0, v1, v2",
     "gfx90a gfx942",
     [](const Words& v, int) {
       const U a = v[0] & 0xffff, b = v[1] & 0xffff, c = v[2] & 0xffff;
       return Words{std::max({a, b, c}), std::min({a, b, c}), std::max(std::min(a, b), std::min(std::max(a, b), c)), 0};
     }},
    {"clamped_sums",
     "v_add_u32 v4, v0, v1 clamp\nv_sub_u32 v5, v0, v1 clamp\nv_add_i32 v6, v0, v1 clamp\nv_sub_i32 v7, v0, v1 clamp",
     cdna,
     [](const Words& v, int) {
       const auto clamped = [](std::int64_t value) {
         return static_cast<U>(std::clamp<std::int64_t>(value, INT32_MIN, INT32_MAX));
       };
       const std::int64_t a = static_cast<std::int32_t>(v[0]), b = static_cast<std::int32_t>(v[1]);
       return Words{static_cast<U>(std::min<U64>(U64{v[0]} + v[1], UINT32_MAX)), v[0] > v[1] ? v[0] - v[1] : 0,
                    clamped(a + b), clamped(a - b)};
     }},
    {"sums_of_byte_products",
     "v_dot4_i32_iu8 v4, v0, v1, v2 neg_lo:[1,1,0]\nv_dot4_i32_iu8 v5, v0, v1, v2 neg_lo:[0,1,0]\n"
     "v_dot4_i32_iu8 v6, v0, v1, v2\nv_dot4_i32_iu8 v7, v0, v1, v2 neg_lo:[1,0,0]",
     rdna,
     [](const Words& v, int) {
       const auto sum = [&](bool first, bool second) {
         U total = v[2];
         for (int i = 0; i < 32; i += 8) {
           const int a = first ? static_cast<std::int8_t>(v[0] >> i) : static_cast<std::uint8_t>(v[0] >> i);
           const int b = second ? static_cast<std::int8_t>(v[1] >> i) : static_cast<std::uint8_t>(v[1] >> i);
           total += static_cast<U>(a * b);
         }
         return total;
       };
       return Words{sum(true, true), sum(false, true), sum(false, false), sum(true, false)};
     }},
    {"sum_of_byte_products", "v_mov_b32 v4, v2\nv_dot4c_i32_i8 v4, v0, v1", "gfx90a gfx942",
     [](const Words& v, int) {
       U sum = v[2];
       for (int i = 0; i < 32; i += 8)
         sum += static_cast<U>(static_cast<std::int8_t>(v[0] >> i) * static_cast<std::int8_t>(v[1] >> i));
       return one(sum);
     }},
    {"clamped_f32", "v_add_f32 v4, v0, v1 clamp", "gfx1201",
     [](const Words& v, int) {
       const float sum = real(v[0]) + real(v[1]);
       return one(std::isnan(sum) ? 0.0f : std::fmin(std::fmax(sum, 0.0f), 1.0f));
     }},
    {"minimum_f32", "v_min_f32 v4, v0, v1", "gfx90a gfx942 gfx1100",
     [](const Words& v, int) {
       const float a = real(v[0]), b = real(v[1]);
       const auto signalling = [](U word) { return (word & 0x7fffffff) > 0x7f800000 && !(word & 0x400000); };
       if (signalling(v[0]) || signalling(v[1])) return one(NAN);
       if (std::isnan(a) || std::isnan(b)) return one(std::isnan(a) ? b : a);
       return one(a == b ? (std::signbit(a) ? a : b) : std::fmin(a, b));
     }},
    {"to_unsigned", "v_cvt_u32_f32 v4, v0", "",
     [](const Words& v, int) {
       const double value = real(v[0]);
       return one(std::isnan(value) || value <= 0 ? 0u : value >= 4294967295.0 ? ~0u : static_cast<U>(value));
     }},
    {"to_half", "v_cvt_f16_f32 v4, v0\nv_and_b32 v4, 0xffff, v4", "",
     [](const Words& v, int) {
       // By the distances to the two neighbours, not as the emulator does it.
       const U sign = v[0] >> 16 & 0x8000, size = v[0] & 0x7fffffff;
       if (size > 0x7f800000) return one(sign | 0x7e00 | (size >> 13 & 0x3ff));
       const double value = real(size);
       const auto number = [](U half) {
         return half >= 0x7c00 ? 65536.0
                : half < 0x400 ? half * 0x1p-24
                               : std::ldexp((half & 0x3ff) + 1024.0, static_cast<int>(half >> 10) - 25);
       };
       U low = 0;
       while (low < 0x7c00 && number(low + 1) <= value) ++low;
       if (low == 0x7c00) return one(sign | low);
       const double below = value - number(low), above = number(low + 1) - value;
       return one(sign | (below < above || (below == above && low % 2 == 0) ? low : low + 1));
     }},
    {"reciprocal_f32", "v_rcp_f32 v4, v0", "",
     [](const Words& v, int) {
       const U size = v[0] & 0x7fffffff;
       const float flushed = size < 0x800000 ? real(v[0] & 0x80000000) : real(v[0]);
       const float result = static_cast<float>(1.0 / double{flushed});
       return one((bits(result) & 0x7fffffff) < 0x800000 ? real(bits(result) & 0x80000000) : result);
     }},
    {"quotient_fixup_f32", "v_div_fixup_f32 v4, v2, v0, v1", "",
     [](const Words& v, int) {
       const float a = real(v[1]), b = real(v[0]), q = real(v[2]);  // a / b
       if (!std::isfinite(a) || !std::isfinite(b) || a == 0 || b == 0) return one(a / b);
       if (std::ilogb(a) - std::ilogb(b) < -150) return one(std::copysign(0.0f, a / b));
       return one(std::copysign(std::isnan(q) ? INFINITY : q, std::copysign(1.0f, a) * std::copysign(1.0f, b)));
     }},
    {"packed_halves", "v_pk_add_u16 v4, v0, v1\nv_pk_mul_lo_u16 v5, v0, v1 op_sel:[1,0] op_sel_hi:[0,1]", "",
     [](const Words& v, int) {
       const U sum = ((v[0] + v[1]) & 0xffff) | ((v[0] >> 16) + (v[1] >> 16)) << 16;
       const U product = ((v[0] >> 16) * (v[1] & 0xffff) & 0xffff) | ((v[0] & 0xffff) * (v[1] >> 16)) << 16;
       return Words{sum, product, 0, 0};
     }},
    {"packed_f32", "v_pk_fma_f32 v[4:5], v[0:1], v[2:3], v[0:1] op_sel_hi:[0,1,1]", cdna,
     [](const Words& v, int) {
       return Words{bits(std::fma(real(v[0]), real(v[2]), real(v[0]))),
                    bits(std::fma(real(v[0]), real(v[3]), real(v[1]))), 0, 0};
     }},
    {"clamped_pairs", "v_pk_add_f32 v[4:5], v[0:1], v[2:3] clamp\nv_pk_mul_f32 v[6:7], v[0:1], v[2:3] clamp", cdna,
     [](const Words& v, int) {
       return clamped({bits(real(v[0]) + real(v[2])), bits(real(v[1]) + real(v[3])), bits(real(v[0]) * real(v[2])),
                       bits(real(v[1]) * real(v[3]))});
     }},
    {"swizzles",
     "ds_swizzle_b32 v4, v0 offset:swizzle(QUAD_PERM,3,2,1,0)\nds_swizzle_b32 v5, v0 offset:swizzle(SWAP,8)\n"
     "ds_swizzle_b32 v6, v0 offset:swizzle(BROADCAST,8,3)\nds_swizzle_b32 v7, v0 "
     "offset:swizzle(REVERSE,16)\nWAIT_LDS\n",
     "",
     [](const Words&, int lane) {
       return Words{of_lane(lane ^ 3), of_lane(lane ^ 8), of_lane((lane & ~7) | 3), of_lane(lane ^ 15)};
     }},
    {"swizzles_by_masks",
     "ds_swizzle_b32 v4, v0\nds_swizzle_b32 v5, v0 offset:0x906\n"
     "ds_swizzle_b32 v6, v0 offset:0xc060\nds_swizzle_b32 v7, v0 offset:0xc461\nWAIT_LDS\n",
     "",
     [](const Words&, int lane) {
       const int base = lane & 32;
       return Words{of_lane(base), of_lane(base | 8 | (lane & 4) | (~lane & 2)), of_lane(base | ((lane + 3) & 31)),
                    of_lane(base | (lane & 1) | ((lane - 3) & 30))};
     }},
    {"load_of_a_cut_buffer",
     "s_mov_b32 s8, s4\ns_mov_b32 s9, s5\ns_movk_i32 s10, 1016\ns_mov_b32 s11, 0x27000\n"
     "buffer_load_dwordx4 v[4:7], v30, s[8:11], 0 offen\ns_waitcnt vmcnt(0)\n",
     cdna,
     [](const Words& v, int lane) {
       return lane < 63 ? v : Words{v[0], v[1], 0, 0};
     }},
    {"store_to_a_cut_buffer",
     "s_mov_b32 s8, s4\ns_mov_b32 s9, s5\ns_movk_i32 s10, 1016\ns_mov_b32 s11, 0x27000\nv_mov_b32 v8, v3\n"
     "v_mov_b32 v9, v2\nv_mov_b32 v10, v1\nv_mov_b32 v11, v0\nbuffer_store_dwordx4 v[8:11], v30, s[8:11], 0 offen\n"
     "s_waitcnt vmcnt(0)\nglobal_load_dwordx4 v[4:7], v30, s[4:5]\ns_waitcnt vmcnt(0)\n",
     cdna,
     [](const Words& v, int lane) {
       return lane < 63 ? Words{v[3], v[2], v[1], v[0]} : Words{v[3], v[2], v[2], v[3]};
     }},
    {"parts_of_halves",
     "v_lshrrev_b32 v8, 16, v0\nv_fract_f16 v4, v8\nv_frexp_mant_f16 v5, v8\nv_frexp_exp_i16_f16 v6, v8\n"
     "v_cmp_class_f16 MASK, v8, v1\nv_cndmask_b32 v7, 0, 1, MASK",
     "",
     [](const Words& v, int) {
       const double x = half(v[0] >> 16);
       const bool finite = std::isfinite(x);
       int exponent = 0;
       const double mantissa = finite ? std::frexp(x, &exponent) : x;
       const double fraction = std::isinf(x) ? NAN : x - std::floor(x);
       const U part = std::isnan(fraction) && !std::isnan(x) ? 0xfe00 : half_code(std::fmin(fraction, 0.99951171875));
       return Words{std::isnan(x) ? half_code(x) : part, half_code(mantissa), finite ? exponent & 0xffffu : 0,
                    v[1] >> class_of_half(v[0] >> 16) & 1};
     }},
    {"class_to_exec", "v_cmpx_class_f16 v0, v1\nv_mov_b32 v4, 1\ns_mov_b32 exec_lo, -1", rdna,
     [](const Words& v, int) { return one(v[1] >> class_of_half(v[0] & 0xffff) & 1); }},
    {"quotient_of_halves",
     "v_lshrrev_b32 v8, 16, v0\nv_lshrrev_b32 v9, 16, v1\nv_lshrrev_b32 v10, 16, v2\n"
     "v_div_fixup_f16 v4, v8, v9, v10\nv_and_b32 v4, 0xffff, v4",
     "",
     [](const Words& v, int) {
       const U quotient = v[0] >> 16, sign = (v[1] ^ v[2]) >> 16 & 0x8000;
       const double d = half(v[1] >> 16), n = half(v[2] >> 16);
       if (std::isnan(n)) return one(v[2] >> 16 | 0x200u);
       if (std::isnan(d)) return one(v[1] >> 16 | 0x200u);
       if (std::isnan(n / d)) return one(0xfe00u);
       if (std::isinf(n) || d == 0) return one(sign | 0x7c00);
       return one(n == 0 || std::isinf(d) ? sign : sign | (quotient & 0x7fff));
     }},
    {"sine_of_halves", "v_cvt_f16_f32 v8, 0.5\nv_mul_f16 v8, v8, v8\nv_sin_f16 v4, v8\nv_cos_f16 v5, v8", "",
     [](const Words&, int) {
       return Words{0x3c00, half_code(std::cos(std::acos(-1.0) / 2)), 0, 0};
     }},
    {"two_by_pi",
     "v_mov_b32 v8, 0\nv_mov_b32 v9, 0x3ff00000\nv_trig_preop_f64 v[4:5], v[8:9], 0\n"
     "v_trig_preop_f64 v[6:7], v[8:9], 1",
     "",
     [](const Words&, int) {
       return Words{0x6dc9c882, 0x3fe45f30, 0x9d5f47d4, 0x3c94a7f0};
     }},
    {"two_by_pi_of_large_numbers",
     "v_mov_b32 v8, 0\nv_mov_b32 v9, 0x7e700000\nv_trig_preop_f64 v[4:5], v[8:9], 0\n"
     "v_trig_preop_f64 v[6:7], v[8:9], 2",
     "",
     [](const Words&, int) {
       return Words{0x93dd63f5, 0x0cc516ba, 0x4ba9afec, 0x061e294a};
     }},
    {"numbers_of_8_bits",
     pairs_of_f8 + "v_cvt_f32_fp8_sdwa v6, v0 src0_sel:BYTE_1\nv_cvt_f32_bf8_sdwa v7, v0 src0_sel:BYTE_2", "gfx942",
     [](const Words& v, int) {
       return Words{(v[2] & 0xffff0000u) | pair_of_f8(v, 3, true), (v[2] & 0xffffu) | pair_of_f8(v, 2, true) << 16,
                    f8(v[0] >> 8, 3, true), f8(v[0] >> 16, 2, true)};
     }},
    {"numbers_of_8_bits_of_ocp", pairs_of_f8 + "v_cvt_f32_fp8 v6, v0 byte_sel:1\nv_cvt_f32_bf8 v7, v0 byte_sel:2",
     "gfx1201",
     [](const Words& v, int) {
       return Words{(v[2] & 0xffff0000u) | pair_of_f8(v, 3, false), (v[2] & 0xffffu) | pair_of_f8(v, 2, false) << 16,
                    f8(v[0] >> 8, 3, false), f8(v[0] >> 16, 2, false)};
     }},
    {"pairs_from_8_bits_f32", "v_cvt_pk_f32_fp8 v[4:5], v0\nv_cvt_pk_f32_bf8_sdwa v[6:7], v0 src0_sel:WORD_1", "gfx942",
     [](const Words& v, int) {
       return Words{f8(v[0], 3, true), f8(v[0] >> 8, 3, true), f8(v[0] >> 16, 2, true), f8(v[0] >> 24, 2, true)};
     }},
    {"pairs_from_8_bits_of_ocp_f32", "v_cvt_pk_f32_fp8 v[4:5], v0\nv_cvt_pk_f32_bf8 v[6:7], v0 op_sel:[1,0]", "gfx1201",
     [](const Words& v, int) {
       return Words{f8(v[0], 3, false), f8(v[0] >> 8, 3, false), f8(v[0] >> 16, 2, false), f8(v[0] >> 24, 2, false)};
     }},
    {"sums_of_products",
     "v_mov_b32 v4, v2\nv_dot2c_i32_i16 v4, v0, v1\nv_dot2_u32_u16 v5, v0, v1, v2\nv_dot8_i32_i4 v6, v0, v1, v2\n"
     "v_mov_b32 v7, v2\nv_dot8c_i32_i4 v7, v0, v1",
     cdna,
     [](const Words& v, int) {
       return Words{dot(v, 16, true, true), dot(v, 16, false, false), dot(v, 4, true, true), dot(v, 4, true, true)};
     }},
    {"sums_of_products_with_signs",
     "v_dot8_i32_iu4 v4, v0, v1, v2 neg_lo:[1,0,0]\nv_dot8_i32_iu4 v5, v0, v1, v2 neg_lo:[1,1,0]\n"
     "v_dot8_u32_u4 v6, v0, v1, v2\nv_dot8_i32_iu4 v7, v0, v1, v2 neg_lo:[0,1,0]",
     rdna,
     [](const Words& v, int) {
       return Words{dot(v, 4, true, false), dot(v, 4, true, true), dot(v, 4, false, false), dot(v, 4, false, true)};
     }},
    {"product_of_bf16_f32", "v_dot2_f32_bf16 v4, v0, v1, v2", rdna,
     [](const Words& v, int) {
       const auto low = [](U word) { return real(word << 16); };
       const auto high = [](U word) { return real(word & 0xffff0000u); };
       return one(std::fma(high(v[0]), high(v[1]), std::fma(low(v[0]), low(v[1]), real(v[2]))));
     }},
    {"differences_of_parts",
     "v_sad_u16 v4, v0, v1, v2\nv_sad_hi_u8 v5, v0, v1, v2\nv_msad_u8 v6, v0, v1, v2\nv_lerp_u8 v7, v0, v1, v2", "",
     [](const Words& v, int) {
       U wide = v[2], all = 0, masked = v[2], averages = 0;
       for (int i = 0; i < 2; ++i) {
         const int x = static_cast<int>(v[0] >> (16 * i) & 0xffff), y = static_cast<int>(v[1] >> (16 * i) & 0xffff);
         wide += static_cast<U>(std::abs(x - y));
       }
       for (int i = 0; i < 4; ++i) {
         const U b = v[1] >> (8 * i) & 255;
         all += byte_difference(v[0], v[1], i);
         if (b != 0) masked += byte_difference(v[0], v[1], i);
         averages += ((v[0] >> (8 * i) & 255) + b + (v[2] >> (8 * i) & 1)) / 2 << (8 * i);
       }
       return Words{wide, (all << 16) + v[2], masked, averages};
     }},
    {"four_differences", "v_qsad_pk_u16_u8 v[4:5], v[0:1], v2, v[2:3]\nv_mqsad_pk_u16_u8 v[6:7], v[0:1], v2, v[2:3]",
     "",
     [](const Words& v, int) {
       const U64 all = four_differences(v, false), masked = four_differences(v, true);
       return Words{static_cast<U>(all), static_cast<U>(all >> 32), static_cast<U>(masked),
                    static_cast<U>(masked >> 32)};
     }},
    {"scalar_halves",
     "s_movk_i32 s10, 0x3c00\ns_movk_i32 s11, 0x4000\ns_cmp_lt_f16 s10, s11\ns_cselect_b32 s12, 1, 0\n"
     "s_cmp_ge_f16 s10, s11\ns_cselect_b32 s13, 1, 0\ns_cmp_nlg_f16 s10, s10\ns_cselect_b32 s14, 1, 0\n"
     "v_mov_b32 v4, s12\nv_mov_b32 v5, s13\nv_mov_b32 v6, s14",
     "gfx1201",
     [](const Words&, int) {
       return Words{1, 0, 1, 0};
     }},
    {"clock",
     "s_memtime s[10:11]\ns_waitcnt lgkmcnt(0)\ns_memrealtime s[12:13]\ns_waitcnt lgkmcnt(0)\ns_cmp_lt_u32 s10, s12\n"
     "s_cselect_b32 s14, 1, 0\nv_mov_b32 v4, s14",
     cdna, [](const Words&, int) { return one(1u); }},
    {"clock_of_shader",
     "s_getreg_b32 s10, hwreg(29)\ns_sendmsg_rtn_b64 s[12:13], sendmsg(MSG_RTN_GET_REALTIME)\nWAIT_LDS\n"
     "s_getreg_b32 s11, hwreg(29)\ns_cmp_lt_u32 s10, s11\ns_cselect_b32 s14, 1, 0\nv_mov_b32 v4, s14",
     rdna, [](const Words&, int) { return one(1u); }},
    {"lanes_of_a_row", "v_permlane16_var_b32 v4, v0, v1\nv_permlanex16_var_b32 v5, v0, v1", "gfx1201",
     [](const Words& v, int lane) {
       const int place = static_cast<int>(v[1] & 15);
       return Words{of_lane((lane & 16) | place), of_lane(((lane & 16) ^ 16) | place), 0, 0};
     }},
    // Without infinities and NaN.
    {"sums_of_pairs_in_memory",
     "v_and_b32 v8, 0xbfffbfff, v0\nv_and_b32 v9, 0xbfffbfff, v1\nds_write_b32 v30, v8\nds_write_b32 v30, v8 offset:4\n"
     "ds_pk_add_f16 v30, v9\nds_pk_add_rtn_bf16 v6, v30, v9 offset:4\nds_read_b64 v[4:5], v30\nWAIT_LDS\n",
     "gfx942 gfx1201",
     [](const Words& v, int) {
       const U a = v[0] & 0xbfffbfff, b = v[1] & 0xbfffbfff;
       const U low = half_code(half(a) + half(b)), high = half_code(half(a >> 16) + half(b >> 16));
       return Words{low | high << 16, bf16_sum(a, b) | bf16_sum(a >> 16, b >> 16) << 16, a, 0};
     }},
    {"sums_of_bf16_in_memory",
     "v_and_b32 v9, 0xbfffbfff, v1\nglobal_atomic_pk_add_bf16 v30, v9, s[4:5] offset:4\ns_waitcnt vmcnt(0)\n"
     "global_load_dword v4, v30, s[4:5] offset:4\ns_waitcnt vmcnt(0)",
     "gfx942",
     [](const Words& v, int) {
       const U b = v[1] & 0xbfffbfff;
       return one(bf16_sum(v[1], b) | bf16_sum(v[1] >> 16, b >> 16) << 16);
     }},
    {"row_shift", "v_mov_b32_dpp v4, v0 row_shr:1 row_mask:0xf bank_mask:0xf", "", {}},
    {"quad", "v_mov_b32_dpp v4, v0 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf", "", {}},
    {"sdwa_bytes", "v_add_u32_sdwa v4, v0, v1 dst_sel:WORD_1 dst_unused:UNUSED_PAD src0_sel:BYTE_1 src1_sel:WORD_1",
     cdna, [](const Words& v, int) { return one(((v[0] >> 8 & 255) + (v[1] >> 16)) << 16); }},
    {"dual", "v_mov_b32 v5, v1\nv_dual_add_f32 v4, v0, v1 :: v_dual_mov_b32 v5, v2", rdna,
     [](const Words& v, int) {
       return Words{bits(real(v[0]) + real(v[1])), v[2], 0, 0};
     }},
    {"dual_exchange", "v_mov_b32 v4, v0\nv_mov_b32 v5, v1\nv_dual_mov_b32 v4, v5 :: v_dual_mov_b32 v5, v4", "gfx1100",
     [](const Words& v, int) {
       return Words{v[1], v[0], 0, 0};
     }},
};

Words expected_of(const Snippet& snippet, const std::vector<Words>& inputs, int lane) {
  if (snippet.expected) return snippet.expected(inputs[static_cast<unsigned>(lane)], lane);
  // Moves between lanes. A lane without a source keeps its result.
  if (snippet.name == "quad") return one(inputs[static_cast<unsigned>(lane ^ 1)][0]);
  return one(lane % 16 == 0 ? 0u : inputs[static_cast<unsigned>(lane - 1)][0]);
}

void check_snippets(const std::string& arch) {
  std::string text;
  for (const Snippet& each : snippets)
    if (has_arch(each.archs, arch)) text += snippet_kernel(each.name, each.code, arch, 1024);
  const emulator::Program program = emulator::Program::load(assemble(text, arch), arch);
  const std::vector<Words> inputs = edge_inputs(wave_size_of(arch));
  for (const Snippet& each : snippets) {
    if (!has_arch(each.archs, arch)) continue;
    const std::vector<Words> found = run_snippet(program, each.name, arch, inputs);
    for (int lane = 0; lane < wave_size_of(arch); ++lane) {
      const auto at = static_cast<unsigned>(lane);
      const Words expected = expected_of(each, inputs, lane);
      for (unsigned i = 0; i < 4; ++i)
        CHECK_MESSAGE(same(found[at][i], expected[i], each.name.ends_with("f32")),
                      arch << " " << each.name << " lane " << lane << " word " << i << ": " << std::hex << found[at][i]
                           << " is not " << expected[i] << " for " << inputs[at][0] << ", " << inputs[at][1] << ", "
                           << inputs[at][2]);
    }
  }
}

}  // namespace

TEST_CASE("Single instructions compute what AMD's documents say") {
  if (!can_emulate()) return;
  for (const std::string& arch : archs_with_rdna2) check_snippets(arch);
}

TEST_CASE("Scalar instructions set the condition code and mask lanes") {
  if (!can_emulate()) return;
  for (const std::string& arch : emulated_archs) {
    const bool wide = has_waves_of_64(arch);
    const std::string saved = wide ? "s_and_saveexec_b64 s[20:21], vcc\n" : "s_and_saveexec_b32 s20, vcc_lo\n";
    const std::string restored = wide ? "s_mov_b64 exec, s[20:21]" : "s_mov_b32 exec_lo, s20";
    // Lanes with v0 > v1 only; then a branch on overflow, a carry through scalar registers, and a read of lane 3.
    const std::string body =
        "v_cmp_gt_u32 MASK, v0, v1\n" + saved + "v_mov_b32 v4, 1\n" + restored +
        "\ns_mov_b32 s10, 0x7fffffff\ns_add_i32 s11, s10, 1\ns_cselect_b32 s12, 5, 6\nv_mov_b32 v5, s12\n"
        "s_mov_b32 s13, -1\ns_add_u32 s13, s13, s13\ns_addc_u32 s14, 0, 0\nv_mov_b32 v6, s14\n"
        "v_readlane_b32 s15, v0, 3\nv_mov_b32 v7, s15";
    const emulator::Program program =
        emulator::Program::load(assemble(snippet_kernel("scalars", body, arch), arch), arch);
    const std::vector<Words> inputs = edge_inputs(wave_size_of(arch));
    const std::vector<Words> found = run_snippet(program, "scalars", arch, inputs);
    for (std::size_t lane = 0; lane < inputs.size(); ++lane) {
      CAPTURE(arch);
      CAPTURE(lane);
      CHECK(found[lane] == Words{inputs[lane][0] > inputs[lane][1] ? 1u : 0u, 5, 1, inputs[3][0]});
    }
  }
}

TEST_CASE("The address of an LDS access has 32 bits, so that a base may be negative") {
  if (!can_emulate()) return;
  for (const std::string& arch : emulated_archs) {
    const std::string wait = arch.starts_with("gfx12") ? "s_wait_dscnt 0x0" : "s_waitcnt lgkmcnt(0)";
    const std::string body =
        "v_mov_b32 v9, 4\nv_mov_b32 v10, -16\nds_write_b32 v9, v0\nds_read_b32 v4, v10 offset:20\n" + wait +
        "\nds_read2_b32 v[6:7], v10 offset0:5 offset1:4\n" + wait;
    const emulator::Program program = emulator::Program::load(
        assemble(snippet_kernel("wrapped", "v_mov_b32 v8, 0\nds_write_b32 v8, v1\n" + body, arch, 64), arch), arch);
    const std::vector<Words> inputs = edge_inputs(wave_size_of(arch));
    const std::vector<Words> found = run_snippet(program, "wrapped", arch, inputs);
    CAPTURE(arch);
    CHECK(found[0] == Words{inputs.back()[0], 0, inputs.back()[0], inputs.back()[1]});
  }
}

TEST_CASE("The tables say how many mnemonics of each kind are known") {
  constexpr const char* names[] = {"scalar",  "vector",        "matrix", "LDS", "global and buffer",
                                   "scratch", "scalar memory", "control"};
  int all = 0;
  for (int kind = 0; kind < static_cast<int>(emulator::Kind::unknown); ++kind) {
    const int count = emulator::mnemonics(static_cast<emulator::Kind>(kind));
    CHECK(count > 0);
    all += count;
    MESSAGE(std::string(names[kind]) << ": " << count);
  }
  MESSAGE("all: " << all);
  std::ifstream file(XTUNE_SOURCE_DIR "/docs/emulator.md");
  const std::string page(std::istreambuf_iterator<char>(file), {});
  const std::string words =
      std::to_string(all / 1000) + "," + std::to_string(1000 + all % 1000).substr(1) + " mnemonics";
  CHECK_MESSAGE(page.find(words) != std::string::npos, "docs/emulator.md does not say that " << words << " are known");
  CHECK((emulator::find_operation("v_fma_f32").run == emulator::find_operation("v_fmaak_f32").run));
  CHECK((emulator::find_operation("v_fma_f32_e64").run == nullptr));
}
