// Arithmetic that scalar and vector instructions share, as AMD's documents define it.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "emulator/half.hpp"

namespace xtune::emulator {

/// A function for numbers of any type as one for numbers of the types A: f16 is computed in double and rounded once.
template <class T>
auto wide(T value) {
  if constexpr (std::is_same_v<T, Half>)
    return to_double(value);
  else
    return value;
}
template <class R, class V>
R narrow(V value) {
  if constexpr (std::is_same_v<R, Half>)
    return half_from(value);
  else if constexpr (requires { R{}.value; })
    return {static_cast<decltype(R{}.value)>(value)};
  else
    return static_cast<R>(value);
}
template <auto F, class R, class... A>
constexpr auto typed_call = [](A... a) { return narrow<R>(F(wide(a)...)); };
/// With as many sources of the type T as the function has.
template <auto F, class R, class T>
constexpr auto typed() {
  using W = decltype(wide(T{}));
  if constexpr (std::is_invocable_v<decltype(F), W>)
    return typed_call<F, R, T>;
  else if constexpr (std::is_invocable_v<decltype(F), W, W>)
    return typed_call<F, R, T, T>;
  else
    return typed_call<F, R, T, T, T>;
}

inline std::uint32_t reversed(std::uint32_t value) {
  value = (value >> 1 & 0x55555555u) | (value & 0x55555555u) << 1;
  value = (value >> 2 & 0x33333333u) | (value & 0x33333333u) << 2;
  value = (value >> 4 & 0x0f0f0f0fu) | (value & 0x0f0f0f0fu) << 4;
  return __builtin_bswap32(value);
}

inline std::uint32_t absolute_difference(std::int32_t a, std::int32_t b) {
  const auto x = static_cast<std::uint32_t>(a), y = static_cast<std::uint32_t>(b);
  return a < b ? y - x : x - y;
}

/// The nearest number of an integer type.
template <class T>
T nearest(std::int64_t value) {
  return static_cast<T>(std::clamp<std::int64_t>(value, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
}
constexpr auto plus = [](std::int64_t a, std::int64_t b) { return a + b; };
constexpr auto minus = [](std::int64_t a, std::int64_t b) { return a - b; };
constexpr auto reverse_minus = [](std::int64_t a, std::int64_t b) { return b - a; };

/// Towards zero; NaN is 0, and what does not fit is the nearest number that does.
template <class To, class From>
To saturated(From value) {
  if (std::isnan(value)) return 0;
  const double number = std::trunc(static_cast<double>(value));
  if (number <= static_cast<double>(std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
  if (number >= static_cast<double>(std::numeric_limits<To>::max())) return std::numeric_limits<To>::max();
  return static_cast<To>(number);
}

template <class T>
bool is_signalling(T value) {
  using Bits = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
  constexpr int quiet = sizeof(T) == 8 ? 51 : 22;
  return std::isnan(value) && !(std::bit_cast<Bits>(value) >> quiet & 1);
}

/// V_CMP_CLASS: a bit for each class of numbers.
template <class T>
bool in_class(T x, std::uint32_t classes) {
  int bit = 0;
  const bool negative = std::signbit(x);
  if (std::isnan(x))
    bit = is_signalling(x) ? 0 : 1;
  else if (std::isinf(x))
    bit = negative ? 2 : 9;
  else if (x == 0)
    bit = negative ? 5 : 6;
  else if (std::fpclassify(x) == FP_SUBNORMAL)
    bit = negative ? 4 : 7;
  else
    bit = negative ? 3 : 8;
  return (classes >> bit & 1) != 0;
}
inline bool in_class(Half x, std::uint32_t classes) {
  const double value = to_double(x);
  const bool denormal = value != 0 && (x.bits & 0x7c00) == 0;
  // The quiet bits of NaN are at the same end of the fraction in both types.
  return in_class(denormal ? std::copysign(std::numeric_limits<double>::denorm_min(), value) : value, classes);
}

/// A NaN of the operands, made quiet, or the number if only one is a quiet NaN. Only if one of them is NaN.
template <class T>
T with_nan(T a, T b) {
  if (is_signalling(a)) return a + a;
  if (is_signalling(b)) return b + b;
  return std::isnan(a) ? b : a;
}

/// minimumNumber of IEEE 754: -0 is less than +0, and a number is less than NaN.
template <class T>
T minimum_number(T a, T b) {
  if (std::isnan(a) || std::isnan(b)) return with_nan(a, b);
  if (a == b) return std::signbit(a) ? a : b;
  return a < b ? a : b;
}
template <class T>
T maximum_number(T a, T b) {
  if (std::isnan(a) || std::isnan(b)) return with_nan(a, b);
  if (a == b) return std::signbit(a) ? b : a;
  return a > b ? a : b;
}
/// minimum of IEEE 754: NaN if either is.
template <class T>
T minimum(T a, T b) {
  return std::isnan(a) ? a + a : std::isnan(b) ? b + b : minimum_number(a, b);
}
template <class T>
T maximum(T a, T b) {
  return std::isnan(a) ? a + a : std::isnan(b) ? b + b : maximum_number(a, b);
}

/// The median of three; NaN counts as the least.
template <class T>
T median(T a, T b, T c) {
  if constexpr (std::is_floating_point_v<T>)
    if (std::isnan(a) || std::isnan(b) || std::isnan(c)) return minimum_number(minimum_number(a, b), c);
  if constexpr (std::is_floating_point_v<T>) {
    return maximum_number(minimum_number(a, b), minimum_number(maximum_number(a, b), c));
  } else {
    const T low = a < b ? a : b, high = a < b ? b : a;
    return c < low ? low : c > high ? high : c;
  }
}

}  // namespace xtune::emulator
