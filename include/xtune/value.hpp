// The value of a parameter, problem size or expression, and names bound to values.
#pragma once

#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include "xtune/error.hpp"

namespace xtune {

/// A numeric type or bool.
template <class T>
concept Arithmetic = std::is_arithmetic_v<T>;

/// A boolean, a 64-bit signed integer, a double or text: the types of specs and of the expression language. Arithmetic
/// types and text convert to it. It is a std::variant of the four types: read it with std::get, std::get_if,
/// std::holds_alternative, std::visit or value_as.
class Value : public std::variant<bool, std::int64_t, double, std::string> {
 public:
  Value() = default;  ///< false
  /// An integer type becomes std::int64_t, a floating-point type double. Throws Error(invalid_argument) for an unsigned
  /// integer above the maximum of std::int64_t.
  template <Arithmetic T>
  Value(T number) : variant(stored(number)) {}  // NOLINT(google-explicit-constructor)
  /// Text; a null pointer gives the empty text.
  Value(const char* text) : variant(std::string(text ? text : "")) {}  // NOLINT(google-explicit-constructor)
  /// Text.
  Value(std::string text) noexcept : variant(std::move(text)) {}  // NOLINT(google-explicit-constructor)
  /// Text.
  Value(std::string_view text) : variant(std::string(text)) {}  // NOLINT(google-explicit-constructor)
  Value(std::nullptr_t) = delete;                               ///< not text

  /// The same type and the same value: Value(1) is not Value(1.0).
  friend bool operator==(const Value& a, const Value& b) { return a.base() == b.base(); }
  /// Orders by type (boolean, integer, double, text), then by value.
  friend std::partial_ordering operator<=>(const Value& a, const Value& b) { return a.base() <=> b.base(); }

 private:
  template <Arithmetic T>
  static auto stored(T number) {
    static_assert(sizeof(T) <= sizeof(std::int64_t) || std::floating_point<T>, "Value: integers have at most 64 bits");
    if constexpr (std::same_as<T, bool>) {
      return number;
    } else if constexpr (std::floating_point<T>) {
      return static_cast<double>(number);
    } else {
      if constexpr (std::is_unsigned_v<T> && sizeof(T) >= sizeof(std::int64_t)) {
        constexpr T max = std::numeric_limits<std::int64_t>::max();
        if (number > max)
          throw Error(ErrorKind::invalid_argument, "the integer " + std::to_string(number) +
                                                       " does not fit a 64-bit signed integer (at most " +
                                                       std::to_string(max) + ")");
      }
      return static_cast<std::int64_t>(number);
    }
  }
  const variant& base() const noexcept { return *this; }
};

/// Names bound to values: a problem ("M" = 4096), a configuration ("BLOCK" = 128).
using Bindings = std::map<std::string, Value, std::less<>>;

/// "true", "64", "0.5", "row". A double is the shortest text that reads back the same and cannot be mistaken for an
/// integer.
std::string to_text(const Value& value);

/// A number or a boolean as an expression of a spec: to_text, and "float('inf')" for a float that is not finite.
std::string expression_text(const Value& value);

/// The value as a number, bool or std::string; an integer converts to a floating-point type. Throws
/// Error(invalid_argument) for a value of another type, and for an integer that T cannot hold.
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
  const char* const wanted = std::same_as<T, bool>          ? "a boolean"
                             : std::same_as<T, std::string> ? "text"
                             : std::integral<T>             ? "an integer in the range of its C++ type"
                                                            : "a number";
  throw Error(ErrorKind::invalid_argument, "'" + to_text(value) + "' is not " + wanted);
}

}  // namespace xtune
namespace std {  // Doxygen does not find the scope of "struct std::hash"
/// Equal values have equal hashes.
template <>
struct hash<xtune::Value> : hash<variant<bool, std::int64_t, double, string>> {};
}  // namespace std
