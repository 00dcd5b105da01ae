// Numbers of 8 and 16 bits (f8, f16 and bf16), and sums that round once.
#pragma once

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

inline float from_bf16(std::uint16_t bits) { return std::bit_cast<float>(std::uint32_t{bits} << 16); }

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

}  // namespace xtune::emulator
