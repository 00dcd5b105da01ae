// The value of a parameter, problem size or expression, and names bound to values.
#pragma once

#include <concepts>
#include <cstdint>
#include <map>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include "xtune/error.hpp"

namespace xtune {

/// What specs and the expression language know: booleans, 64-bit integers, doubles, strings.
using Value = std::variant<bool, std::int64_t, double, std::string>;

/// Any number, and bool.
template <class T>
concept Arithmetic = std::is_arithmetic_v<T>;

/// Names bound to values: a problem ("M" = 4096), a configuration ("BLOCK" = 128).
using Bindings = std::map<std::string, Value, std::less<>>;

/// "true", "64", "0.5" (shortest text that reads back the same double, never mistaken for an integer), "row".
std::string to_text(const Value& value);

/// A Value from any arithmetic type or text. Throws Error(invalid_argument) for an integer beyond 64 bits with sign.
template <class T>
Value to_value(const T& from) {
  if constexpr (std::same_as<T, Value>) {
    return from;
  } else if constexpr (std::same_as<T, bool>) {
    return Value(from);
  } else if constexpr (std::integral<T>) {
    if (!std::in_range<std::int64_t>(from))
      throw Error(ErrorKind::invalid_argument,
                  "the integer " + std::to_string(from) + " does not fit into 64 bits with sign");
    return Value(static_cast<std::int64_t>(from));
  } else if constexpr (std::floating_point<T>) {
    return Value(static_cast<double>(from));
  } else {
    return Value(std::string(from));
  }
}

/// The inverse: a number, bool or std::string of this value; an integer is good for a floating-point type too. Throws
/// Error(invalid_argument) for a value of another kind, and for one that the type does not hold.
template <class T>
T value_as(const Value& value) {
  static_assert(std::is_arithmetic_v<T> || std::same_as<T, std::string>, "value_as: a number, bool or std::string");
  if constexpr (std::same_as<T, bool> || std::same_as<T, std::string>) {
    if (const T* const held = std::get_if<T>(&value)) return *held;
  } else {
    const std::int64_t* const integer = std::get_if<std::int64_t>(&value);
    if constexpr (std::integral<T>) {
      if (integer && std::in_range<T>(*integer)) return static_cast<T>(*integer);
    } else {
      if (integer) return static_cast<T>(*integer);
      if (const double* const number = std::get_if<double>(&value)) return static_cast<T>(*number);
    }
  }
  const char* const wanted = std::same_as<T, bool>          ? "bool"
                             : std::same_as<T, std::string> ? "text"
                             : std::integral<T>             ? "integer that fits"
                                                            : "number";
  throw Error(ErrorKind::invalid_argument, "'" + to_text(value) + "' is no " + wanted);
}

}  // namespace xtune
