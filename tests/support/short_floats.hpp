// Floating-point formats of 8 and 16 bits by their definition: the value of every code, and by search the code nearest
// to a value. Source: OCP 8-bit Floating Point Specification 1.0, section 5; IEEE 754-2019.
#pragma once

#include <cmath>
#include <limits>
#include <vector>

namespace xtune::test {

struct ShortFloat {
  int exponent_bits, mantissa_bits;
  bool has_infinity;  ///< otherwise only the last code is NaN

  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  unsigned sign_bit() const { return 1u << (exponent_bits + mantissa_bits); }
  unsigned codes() const { return 2 * sign_bit(); }
  /// Of the largest finite value.
  unsigned largest() const {
    return has_infinity ? (((1u << exponent_bits) - 1) << mantissa_bits) - 1 : sign_bit() - 2;
  }

  double value(unsigned code) const {
    const unsigned magnitude = code & (sign_bit() - 1);
    const double sign = code & sign_bit() ? -1.0 : 1.0;
    if (has_infinity && magnitude == largest() + 1) return sign * std::numeric_limits<double>::infinity();
    if (magnitude > largest()) return std::numeric_limits<double>::quiet_NaN();
    const int exponent = static_cast<int>(magnitude >> mantissa_bits);
    const double fraction = std::ldexp(magnitude & ((1u << mantissa_bits) - 1), -mantissa_bits);
    return sign * (exponent == 0 ? std::ldexp(fraction, 1 - bias()) : std::ldexp(1 + fraction, exponent - bias()));
  }

  /// Of a value that is not NaN, rounded to nearest, ties to even. `saturate`: the largest number instead of infinity
  /// and of numbers that are too large; otherwise infinity, or NaN.
  unsigned nearest(double value, bool saturate) const {
    const unsigned sign = std::signbit(value) ? sign_bit() : 0;
    const double magnitude = std::abs(value);
    // The first value that is too large: as if there were one more number.
    const double next =
        this->value(largest()) + std::ldexp(1, static_cast<int>(largest() >> mantissa_bits) - bias() - mantissa_bits);
    const double middle = (this->value(largest()) + next) / 2;
    if (magnitude > middle || (magnitude == middle && largest() % 2 == 1))
      return sign | (saturate ? largest() : largest() + 1);
    // Values grow with their codes: the last one that is not larger, or the next one.
    unsigned below = 0, above = largest() + 1;
    while (above - below > 1) {
      const unsigned middle_code = (below + above) / 2;
      (this->value(middle_code) <= magnitude ? below : above) = middle_code;
    }
    if (below == largest()) return sign | below;
    const double down = magnitude - this->value(below), up = this->value(below + 1) - magnitude;
    const unsigned best = up < down || (up == down && below % 2 == 1) ? below + 1 : below;
    return sign | best;
  }

  /// Every value, the middle of every two neighbours, what lies next to those, and what is too large.
  std::vector<float> interesting() const {
    std::vector<float> values{0.0f, 1e-30f, 1e-42f, 3e38f, std::numeric_limits<float>::infinity()};
    const auto add = [&](float value) {
      values.insert(values.end(), {value, std::nextafter(value, 0.0f), std::nextafter(value, 1e30f)});
    };
    for (unsigned code = 1; code <= largest(); ++code) {
      add(static_cast<float>(value(code)));
      add(static_cast<float>((value(code) + value(code - 1)) / 2));
    }
    const double top = value(largest()), step = top - value(largest() - 1);
    for (const double part : {0.5, 1.0, 1.5, 2.0}) add(static_cast<float>(top + part * step));
    for (std::size_t i = values.size(); i-- > 0;) values.push_back(-values[i]);
    return values;
  }
};

inline constexpr ShortFloat e4m3{4, 3, false}, e5m2{5, 2, true}, binary16{5, 10, true}, bfloat16{8, 7, true};

}  // namespace xtune::test
