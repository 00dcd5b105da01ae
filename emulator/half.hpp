// Numbers of 8 and 16 bits (f8, f16 and bf16), and sums that round once.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

namespace xtune::emulator {

struct Half {
  std::uint16_t bits = 0;
};

inline double to_double(Half value) {
  const int exponent = value.bits >> 10 & 31, fraction = value.bits & 0x3ff;
  const double sign = value.bits & 0x8000 ? -1.0 : 1.0;
  if (exponent == 31) {
    const std::uint64_t nan =
        (std::uint64_t{value.bits} & 0x8000) << 48 | 0x7ff0000000000000 | std::uint64_t(fraction) << 42;
    return std::bit_cast<double>(nan);
  }
  return sign * (exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(fraction + 1024, exponent - 25));
}

/// To the nearest, ties to even.
inline Half half_from(double value) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const auto sign = static_cast<std::uint16_t>(bits >> 48 & 0x8000);
  if (std::isnan(value)) return {static_cast<std::uint16_t>(sign | 0x7e00 | (bits >> 42 & 0x3ff))};
  const double size = std::fabs(value);
  if (size >= 65520.0) return {static_cast<std::uint16_t>(sign | 0x7c00)};
  if (size < 0x1p-14) return {static_cast<std::uint16_t>(sign | static_cast<int>(std::nearbyint(size * 0x1p24)))};
  const int exponent = static_cast<int>(bits >> 52 & 0x7ff) - 1023;
  const int fraction = static_cast<int>(std::nearbyint(std::ldexp(size, 10 - exponent)));  // 1024 to 2048
  return {static_cast<std::uint16_t>(sign | (((exponent + 15) << 10) + (fraction - 1024)))};
}

/// Towards zero.
inline Half half_truncated(float value) {
  const Half near = half_from(value);
  if (std::isnan(value) || std::isinf(value)) return near;
  if (std::fabs(to_double(near)) <= std::fabs(double{value})) return near;
  return {static_cast<std::uint16_t>(near.bits - 1)};
}

inline std::uint32_t pair_of(Half low, Half high) { return low.bits | std::uint32_t{high.bits} << 16; }

inline float from_bf16(std::uint16_t bits) { return std::bit_cast<float>(std::uint32_t{bits} << 16); }

/// To the nearest, ties to even. NaN stays NaN.
inline std::uint16_t bf16_from(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) return static_cast<std::uint16_t>(bits >> 16 | 0x40);
  return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/// A number of 8 bits with this many bits of mantissa (E4M3: 3, E5M2: 2) and a bias of the exponent. fnuz: CDNA3's
/// forms, which have one NaN in place of -0 and no infinity; otherwise OCP's, of which E4M3 has no infinity.
inline float from_f8(std::uint8_t bits, int mantissa, bool fnuz) {
  const int steps = 1 << mantissa, fraction = bits & (steps - 1), exponent = (bits & 0x7f) >> mantissa;
  const int bias = (64 >> mantissa) - (fnuz ? 0 : 1);
  if (fnuz && bits == 0x80) return NAN;
  if (!fnuz && mantissa == 3 && (bits & 0x7f) == 0x7f) return NAN;
  const float sign = bits & 0x80 ? -1.0f : 1.0f;
  if (!fnuz && mantissa == 2 && exponent == 31) return fraction != 0 ? NAN : sign * INFINITY;
  const int normal = exponent == 0 ? 0 : steps;
  return sign * std::ldexp(static_cast<float>(normal + fraction), (exponent == 0 ? 1 : exponent) - bias - mantissa);
}

/// The nearest number of 8 bits, ties to even. Numbers that are too large are infinite in OCP's E5M2, and NaN in the
/// other forms.
inline std::uint8_t f8_from(float value, int mantissa, bool fnuz) {
  const auto sign = static_cast<std::uint8_t>(std::signbit(value) ? 0x80 : 0);
  const bool has_infinity = !fnuz && mantissa == 2;
  const auto nan = static_cast<std::uint8_t>(fnuz ? 0x80 : sign | 0x7f);
  if (std::isnan(value)) return nan;
  const auto too_large = static_cast<std::uint8_t>(has_infinity ? sign | 0x7c : nan);
  if (std::isinf(value)) return too_large;
  const int bias = (64 >> mantissa) - (fnuz ? 0 : 1), least = 1 - bias;
  const double size = std::fabs(double{value});
  const int exponent = size == 0 ? least : std::max(std::ilogb(size), least);
  // Steps of the last bit; the codes of one sign count up with the numbers.
  const int steps = static_cast<int>(std::nearbyint(std::ldexp(size, mantissa - exponent)));
  const int code = ((exponent - least) << mantissa) + steps;
  const int largest = fnuz ? 0x7f : has_infinity ? 0x7b : 0x7e;
  if (code > largest) return too_large;
  return static_cast<std::uint8_t>(code == 0 && fnuz ? 0 : sign | code);
}

/// a * b + c for numbers of f16, rounded once. The product is exact in double; the sum is rounded to odd first, so that
/// the second rounding sees whether it was exact.
inline Half half_fma(double a, double b, double c) {
  const double product = a * b, sum = product + c;
  if (std::isfinite(sum) && std::isfinite(c)) {
    const double back = sum - product, error = (product - (sum - back)) + (c - back);
    auto bits = std::bit_cast<std::uint64_t>(sum);
    if (error != 0 && !(bits & 1)) {
      const bool away = (error > 0) == (sum > 0);
      bits = away ? bits + 1 : bits - 1;
    }
    return half_from(std::bit_cast<double>(bits));
  }
  return half_from(sum);
}

/// Both sums of two pairs.
inline std::uint32_t sum_of_halves(std::uint32_t a, std::uint32_t b) {
  std::uint32_t sum = 0;
  for (const int shift : {0, 16}) {
    const auto half = [shift](std::uint32_t word) {
      return to_double(Half{static_cast<std::uint16_t>(word >> shift)});
    };
    sum |= std::uint32_t{half_from(half(a) + half(b)).bits} << shift;
  }
  return sum;
}
inline std::uint32_t sum_of_bf16(std::uint32_t a, std::uint32_t b) {
  std::uint32_t sum = 0;
  for (const int shift : {0, 16}) {
    const auto number = [shift](std::uint32_t word) { return from_bf16(static_cast<std::uint16_t>(word >> shift)); };
    sum |= std::uint32_t{bf16_from(number(a) + number(b))} << shift;
  }
  return sum;
}

}  // namespace xtune::emulator
