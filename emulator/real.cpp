// Instructions of the vector unit for f32 and f64, and conversions.
#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>

#include "emulator/arithmetic.hpp"
#include "emulator/lanes.hpp"
#include "emulator/operations.hpp"

namespace xtune::emulator {
namespace {

float flush_denormal(float x) { return std::fabs(x) < 1.17549435e-38f ? std::copysign(0.0f, x) : x; }

// As exact as double makes them. The hardware flushes denormals of f32 at both ends.
template <auto F>
constexpr auto of_f16 = [](Half x) { return half_from(F(to_double(x))); };
template <auto F>
constexpr auto of_f32 = [](float x) { return flush_denormal(static_cast<float>(F(double{flush_denormal(x)}))); };

constexpr auto reciprocal = [](double x) { return 1.0 / x; };
constexpr auto reciprocal_root = [](double x) { return 1.0 / std::sqrt(x); };
constexpr auto root = [](double x) { return std::sqrt(x); };
constexpr auto exponential = [](double x) { return std::exp2(x); };
constexpr auto logarithm = [](double x) { return std::log2(x); };

/// The argument of sines and cosines is in turns. The hardware is defined for up to 256 of them.
double angle(double turns) { return std::isinf(turns) ? NAN : 6.283185307179586 * (turns - std::floor(turns)); }

float fraction(float x) { return x - std::floor(x) >= 1.0f ? 0x1.fffffep-1f : x - std::floor(x); }
double fraction(double x) { return x - std::floor(x) >= 1.0 ? 0x1.fffffffffffffp-1 : x - std::floor(x); }

template <class T>
I exponent_of(T x) {
  int exponent = 0;
  if (std::isfinite(x) && x != 0) std::frexp(x, &exponent);
  return exponent;
}
template <class T>
T mantissa_of(T x) {
  int exponent = 0;
  return std::isfinite(x) ? std::frexp(x, &exponent) : x;
}

/// x * 2^exponent, rounded once.
template <class T>
T scaled(T x, I exponent) {
  return std::ldexp(x, std::clamp(exponent, -5000, 5000));
}

/// V_DIV_SCALE: the operand that the first source repeats, moved to where the division by Newton's method neither
/// overflows nor loses bits, and whether V_DIV_FMAS has to move the result back.
template <class T>
WithCarry<T> division_scale(T value, T denominator, T numerator) {
  constexpr bool wide = sizeof(T) == 8;
  constexpr int shift = wide ? 128 : 64, top = wide ? 768 : 96, least = wide ? -1022 : -126;
  const auto is = [](T a, T b) { return std::memcmp(&a, &b, sizeof a) == 0; };
  if (numerator == 0 || denominator == 0) return {static_cast<T>(NAN), false};
  if (!std::isfinite(numerator) || !std::isfinite(denominator)) return {value, false};
  const int difference = std::ilogb(numerator) - std::ilogb(denominator);
  if (difference >= top) return {is(value, denominator) ? scaled(value, shift) : value, true};
  if (std::fpclassify(denominator) == FP_SUBNORMAL) return {scaled(value, shift), false};
  const bool inverse_denormal = std::fpclassify(1 / denominator) == FP_SUBNORMAL;
  const bool ratio_denormal = difference < least + 1 && std::fpclassify(numerator / denominator) != FP_NORMAL;
  // The quotient becomes a normal number if the denominator is reduced.
  if (inverse_denormal && ratio_denormal) return {is(value, denominator) ? scaled(value, -shift) : value, true};
  if (inverse_denormal) return {scaled(value, -shift), false};
  if (ratio_denormal) return {is(value, numerator) ? scaled(value, shift) : value, true};
  if (std::ilogb(numerator) <= (wide ? -970 : -104)) return {scaled(value, shift), false};
  return {value, false};
}

template <class T>
void v_div_scale(Wave& wave, const Instruction& in) {
  Lanes<T> source[3], result;
  for (int i = 0; i < 3; ++i) fetch(wave, in, in.operand[static_cast<unsigned>(2 + i)], i, source[i]);
  std::uint64_t bits = 0;
  for (int lane = 0; lane < wave.lanes; ++lane) {
    const auto [value, carry] = division_scale(source[0].value[lane], source[1].value[lane], source[2].value[lane]);
    result.value[lane] = value;
    bits |= std::uint64_t{carry} << lane;
  }
  for (int lane = wave.lanes; lane < 64; ++lane) result.value[lane] = 0;
  write(wave, in, in.operand[0], result);
  write_lane_bits(wave, in.operand[1], bits & wave.exec());
}

/// V_DIV_FMAS: a fused product and sum; where VCC is set, moved by the factor that V_DIV_SCALE took out.
template <class T>
void v_div_fmas(Wave& wave, const Instruction& in) {
  Lanes<T> a, b, c, result;
  fetch(wave, in, in.operand[1], 0, a);
  fetch(wave, in, in.operand[2], 1, b);
  fetch(wave, in, in.operand[3], 2, c);
  Operand vcc;
  vcc.kind = OperandKind::scalar;
  vcc.index = scalar_register::vcc;
  const std::uint64_t bits = lane_bits(wave, vcc);
  constexpr int shift = sizeof(T) == 8 ? 128 : 64;
  using Wide = std::conditional_t<sizeof(T) == 8, long double, double>;
  for (int lane = 0; lane < 64; ++lane) {
    result.value[lane] = std::fma(a.value[lane], b.value[lane], c.value[lane]);
    if (!(bits >> lane & 1)) continue;
    // Rounded after the move, which may make a denormal number. The estimate of the quotient shows the direction.
    const Wide sum = std::fma(Wide{a.value[lane]}, Wide{b.value[lane]}, Wide{c.value[lane]});
    result.value[lane] = static_cast<T>(std::ldexp(sum, std::fabs(c.value[lane]) >= 2 ? shift : -shift));
  }
  write(wave, in, in.operand[0], result);
}

/// V_DIV_FIXUP: the quotient, or what IEEE 754 has for special operands.
template <class T>
T division_fixup(T quotient, T denominator, T numerator) {
  const bool negative = std::signbit(denominator) != std::signbit(numerator);
  const T sign = negative ? T{-1} : T{1};
  if (std::isnan(numerator)) return numerator + numerator;
  if (std::isnan(denominator)) return denominator + denominator;
  if ((denominator == 0 && numerator == 0) || (std::isinf(denominator) && std::isinf(numerator)))
    return -static_cast<T>(NAN);
  if (denominator == 0 || std::isinf(numerator)) return sign * static_cast<T>(INFINITY);
  if (std::isinf(denominator) || numerator == 0) return sign * T{0};
  const int difference = std::ilogb(numerator) - std::ilogb(denominator);
  if (difference < (sizeof(T) == 8 ? -1075 : -150)) return sign * T{0};
  // Of finite operands, only a quotient that is too large is not a number.
  return std::copysign(std::isnan(quotient) ? static_cast<T>(INFINITY) : quotient, sign);
}

/// The first 1201 bits of 2/pi after the binary point.
constexpr U two_by_pi[] = {0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe5163ab,
                           0xdebbc561, 0xb7246e3a, 0x424dd2e0, 0x06492eea, 0x09d1921c, 0xfe1deb1c, 0xb129a73e,
                           0xe88235f5, 0x2ebb4484, 0xe99c7026, 0xb45f7e41, 0x3991d639, 0x835339f4, 0x9c845f8b,
                           0xbdf9283b, 0x1ff897ff, 0xde05980f, 0xef2f118b, 0x5a0a6d1f, 0x6d367ecf, 0x27cb09b7,
                           0x4f463f66, 0x9e5fea2d, 0x7527bac7, 0xebe5f17b, 0x3d0739f7, 0x8a5292ea, 0x6bfb5fb1,
                           0x1f8d5d08, 0x56033046, 0xfc7b0000};

/// V_TRIG_PREOP_F64: the part of 2/pi, 53 bits for each segment, that counts for a number of this exponent.
double part_of_two_by_pi(double x, U segment) {
  if (std::isnan(x)) return x + x;
  const int exponent = static_cast<int>(std::bit_cast<std::uint64_t>(x) >> 52 & 0x7ff);
  const int shift = static_cast<int>(segment & 31) * 53 + std::max(exponent - 1077, 0);
  const auto word = static_cast<std::size_t>(shift / 32);
  if (word + 2 >= std::size(two_by_pi)) return 0;
  std::uint64_t bits = std::uint64_t{two_by_pi[word]} << 32 | two_by_pi[word + 1];
  if (shift % 32 != 0) bits = bits << (shift % 32) | two_by_pi[word + 2] >> (32 - shift % 32);
  return std::ldexp(static_cast<double>(bits >> 11), (exponent >= 1968 ? 128 : 0) - 53 - shift);
}

template <auto F>
constexpr Operation reals(const char* names, const char* types = "f16 f32 f64") {
  return {
      names,
      types,
      {each_lane<typed<F, Half, Half>()>, each_lane<typed<F, float, float>()>, each_lane<typed<F, double, double>()>}};
}

template <auto F>
constexpr Operation transcendental(const char* names, const char* types = "f16 f32 f64") {
  return {names, types, {each_lane<of_f16<F>>, each_lane<of_f32<F>>, each_lane<F>}};
}
/// From and to a scalar register.
template <auto F>
constexpr Operation scalar_transcendental(const char* names) {
  return {names, "f16 f32", {of_scalar<of_f16<F>>, of_scalar<of_f32<F>>}};
}

constexpr Operation real_table[] = {
    reals<[](auto a, auto b) { return a + b; }>("v_add_# v_dual_add_f32"),
    reals<[](auto a, auto b) { return a - b; }>("v_sub_# v_dual_sub_f32", "f16 f32"),
    reals<[](auto a, auto b) { return b - a; }>("v_subrev_# v_dual_subrev_f32", "f16 f32"),
    reals<[](auto a, auto b) { return a * b; }>("v_mul_# v_dual_mul_f32"),
    reals<[](auto a, auto b) { return minimum_number(a, b); }>("v_min_# v_min_num_# v_dual_min_f32 v_dual_min_num_f32"),
    reals<[](auto a, auto b) { return maximum_number(a, b); }>("v_max_# v_max_num_# v_dual_max_f32 v_dual_max_num_f32"),
    reals<[](auto a, auto b) { return minimum(a, b); }>("v_minimum_#"),
    reals<[](auto a, auto b) { return maximum(a, b); }>("v_maximum_#"),
    reals<[](auto a, auto b, auto c) { return minimum(minimum(a, b), c); }>("v_minimum3_#", "f16 f32"),
    reals<[](auto a, auto b, auto c) { return maximum(maximum(a, b), c); }>("v_maximum3_#", "f16 f32"),
    reals<[](auto a, auto b, auto c) { return minimum(maximum(a, b), c); }>("v_maximumminimum_#", "f16 f32"),
    reals<[](auto a, auto b, auto c) { return maximum(minimum(a, b), c); }>("v_minimummaximum_#", "f16 f32"),
    reals<[](auto a, auto b, auto c) { return minimum_number(minimum_number(a, b), c); }>("v_min3_# v_min3_num_#",
                                                                                          "f16 f32"),
    reals<[](auto a, auto b, auto c) { return maximum_number(maximum_number(a, b), c); }>("v_max3_# v_max3_num_#",
                                                                                          "f16 f32"),
    reals<[](auto a, auto b, auto c) { return minimum_number(maximum_number(a, b), c); }>("v_maxmin_# v_maxmin_num_#",
                                                                                          "f16 f32"),
    reals<[](auto a, auto b, auto c) { return maximum_number(minimum_number(a, b), c); }>("v_minmax_# v_minmax_num_#",
                                                                                          "f16 f32"),
    reals<[](auto a, auto b, auto c) { return median(a, b, c); }>("v_med3_# v_med3_num_#", "f16 f32"),
    reals<[](auto a) { return std::trunc(a); }>("v_trunc_#"),
    reals<[](auto a) { return std::floor(a); }>("v_floor_#"),
    reals<[](auto a) { return std::ceil(a); }>("v_ceil_#"),
    reals<[](auto a) { return std::nearbyint(a); }>("v_rndne_#"),
    reals<[](auto a) { return mantissa_of(a); }>("v_frexp_mant_#"),
    {"v_fma_f32 v_fmaak_f32 v_fmamk_f32 v_dual_fmaak_f32 v_dual_fmamk_f32",
     each_lane<[](float a, float b, float c) { return std::fma(a, b, c); }>},
    {"v_fmac_f32 v_dual_fmac_f32", each_lane<[](float a, float b, float c) { return std::fma(a, b, c); }>,
     Sources::with_target},
    {"v_mad_f32 v_madak_f32 v_madmk_f32",
     each_lane<[](float a, float b, float c) { return flush_denormal(flush_denormal(a * b) + c); }>},
    {"v_mac_f32", each_lane<[](float a, float b, float c) { return flush_denormal(flush_denormal(a * b) + c); }>,
     Sources::with_target},
    {"v_mul_legacy_f32 v_mul_dx9_zero_f32 v_dual_mul_dx9_zero_f32",
     each_lane<[](float a, float b) { return a == 0 || b == 0 ? 0.0f : a * b; }>},
    transcendental<reciprocal>("v_rcp_# v_rcp_iflag_f32"),
    transcendental<reciprocal_root>("v_rsq_#"),
    transcendental<root>("v_sqrt_#"),
    transcendental<exponential>("v_exp_#", "f16 f32"),
    transcendental<logarithm>("v_log_#", "f16 f32"),
    scalar_transcendental<reciprocal>("v_s_rcp_#"),
    scalar_transcendental<reciprocal_root>("v_s_rsq_#"),
    scalar_transcendental<root>("v_s_sqrt_#"),
    scalar_transcendental<exponential>("v_s_exp_#"),
    scalar_transcendental<logarithm>("v_s_log_#"),
    reals<[](auto a) { return std::sin(angle(a)); }>("v_sin_#", "f16 f32"),
    reals<[](auto a) { return std::cos(angle(a)); }>("v_cos_#", "f16 f32"),
    {"v_fract_f32", each_lane<[](float a) { return fraction(a); }>},
    {"v_frexp_exp_i32_f32", each_lane<[](float a) { return exponent_of(a); }>},
    {"v_ldexp_f32", each_lane<[](float a, I b) { return scaled(a, b); }>},
    {"v_div_scale_f32", v_div_scale<float>},
    {"v_div_scale_f64", v_div_scale<double>},
    {"v_div_fmas_f32", v_div_fmas<float>},
    {"v_div_fmas_f64", v_div_fmas<double>},
    {"v_div_fixup_f32", each_lane<[](float a, float b, float c) { return division_fixup(a, b, c); }>},
    {"v_div_fixup_f64", each_lane<[](double a, double b, double c) { return division_fixup(a, b, c); }>},
    {"v_fma_f64", each_lane<[](double a, double b, double c) { return std::fma(a, b, c); }>},
    {"v_fmac_f64", each_lane<[](double a, double b, double c) { return std::fma(a, b, c); }>, Sources::with_target},
    {"v_fract_f64", each_lane<[](double a) { return fraction(a); }>},
    {"v_trig_preop_f64", each_lane<[](double a, U b) { return part_of_two_by_pi(a, b); }>},
    {"v_frexp_exp_i32_f64", each_lane<[](double a) { return exponent_of(a); }>},
    {"v_ldexp_f64", each_lane<[](double a, I b) { return scaled(a, b); }>},
    {"v_cvt_f32_u32", each_lane<[](U a) { return static_cast<float>(a); }>},
    {"v_cvt_f32_i32", each_lane<[](I a) { return static_cast<float>(a); }>},
    {"v_cvt_u32_f32", each_lane<[](float a) { return saturated<U>(a); }>},
    {"v_cvt_i32_f32", each_lane<[](float a) { return saturated<I>(a); }>},
    {"v_cvt_rpi_i32_f32 v_cvt_nearest_i32_f32",
     each_lane<[](float a) { return saturated<I>(std::floor(double{a} + 0.5)); }>},
    {"v_cvt_flr_i32_f32 v_cvt_floor_i32_f32", each_lane<[](float a) { return saturated<I>(std::floor(a)); }>},
    {"v_cvt_f64_u32", each_lane<[](U a) { return static_cast<double>(a); }>},
    {"v_cvt_f64_i32", each_lane<[](I a) { return static_cast<double>(a); }>},
    {"v_cvt_u32_f64", each_lane<[](double a) { return saturated<U>(a); }>},
    {"v_cvt_i32_f64", each_lane<[](double a) { return saturated<I>(a); }>},
    {"v_cvt_f32_f64", each_lane<[](double a) { return static_cast<float>(a); }>},
    {"v_cvt_f64_f32", each_lane<[](float a) { return static_cast<double>(a); }>},
    {"v_cvt_f32_ubyte0", each_lane<[](U a) { return static_cast<float>(a & 255); }>},
    {"v_cvt_f32_ubyte1", each_lane<[](U a) { return (static_cast<float>(a >> 8 & 255)); }>},
    {"v_cvt_f32_ubyte2", each_lane<[](U a) { return (static_cast<float>(a >> 16 & 255)); }>},
    {"v_cvt_f32_ubyte3", each_lane<[](U a) { return (static_cast<float>(a >> 24)); }>},
    {"v_cvt_off_f32_i4", each_lane<[](U a) { return (static_cast<float>(static_cast<I>(a << 28) >> 28) / 16.0f); }>},
};

}  // namespace

const OperationTable float_operations{Kind::vector, real_table};

}  // namespace xtune::emulator
