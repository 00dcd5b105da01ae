// The evaluator's value: the contents of a Value in 16 bytes that are cheap to copy, and Python's arithmetic on it.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include "core/space/value.hpp"

namespace xtune::space::expr {

/// A string is not owned: it lives in the Value or the expression that the scalar was made from.
struct Scalar {
  enum class Kind : std::uint8_t { boolean, integer, floating, text };
  Kind kind = Kind::integer;
  union {
    std::int64_t integer = 0;  ///< also 0 or 1 for a boolean
    double floating;
    const std::string* text;
  };

  static Scalar of(bool value) noexcept {
    Scalar scalar;
    scalar.kind = Kind::boolean;
    scalar.integer = value;
    return scalar;
  }
  static Scalar of(std::int64_t value) noexcept {
    Scalar scalar;
    scalar.integer = value;
    return scalar;
  }
  static Scalar of(double value) noexcept {
    Scalar scalar;
    scalar.kind = Kind::floating;
    scalar.floating = value;
    return scalar;
  }
  static Scalar of(const Value& value) noexcept;
  Value value() const;
  const char* type_name() const noexcept;
  /// Booleans count as integers, as in Python.
  bool is_integer() const noexcept { return kind == Kind::integer || kind == Kind::boolean; }
  bool is_number() const noexcept { return kind != Kind::text; }
  double as_double() const noexcept { return kind == Kind::floating ? floating : static_cast<double>(integer); }
};

enum class Arithmetic : std::uint8_t { add, subtract, multiply, divide, floor_divide, modulo, power };
enum class Relation : std::uint8_t { equal, not_equal, less, less_equal, greater, greater_equal };
enum class Function : std::uint8_t { min, max, abs, ceildiv, pow2, log2, to_int, to_float, max_active_clusters };

/// An error in an operation; the interpreter adds the place.
struct ArithmeticError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// All throw ArithmeticError: overflow, division by zero, an unsupported type.
Scalar calculate(Arithmetic operation, const Scalar& left, const Scalar& right);
Scalar negate(const Scalar& operand);
Scalar unary_plus(const Scalar& operand);
bool compare(Relation comparison, const Scalar& left, const Scalar& right);
Scalar call(Function function, const Scalar* arguments, std::size_t count);
bool truth(const Scalar& scalar) noexcept;

const char* symbol(Arithmetic operation) noexcept;
const char* symbol(Relation comparison) noexcept;

}  // namespace xtune::space::expr
