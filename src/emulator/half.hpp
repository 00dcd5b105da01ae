// Numbers of 16 bits (f16 and bf16), and sums that round once.
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
