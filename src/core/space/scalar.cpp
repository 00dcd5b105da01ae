// Python's numbers and comparisons, except that integers are 64-bit and an overflow is an error.
#include "core/space/scalar.hpp"

#include <bit>
#include <cmath>
#include <compare>
#include <limits>

namespace xtune::space::expr {

namespace {

constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min();

[[noreturn]] void overflow(const char* operation) {
  throw ArithmeticError(std::string("the result of ") + operation + " does not fit a 64-bit integer");
}

[[noreturn]] void mismatch(const char* operation, const Scalar& left, const Scalar& right) {
  throw ArithmeticError(std::string("cannot use ") + operation + " on " + left.type_name() + " and " +
                        right.type_name());
}

std::int64_t floor_divide(std::int64_t a, std::int64_t b) {
  if (b == 0) throw ArithmeticError("division by zero");
  if (a == lowest && b == -1) overflow("//");
  const std::int64_t quotient = a / b;
  return quotient - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0);
}

std::int64_t modulo(std::int64_t a, std::int64_t b) {
  if (b == 0) throw ArithmeticError("division by zero");
  if (b == -1) return 0;
  const std::int64_t rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

double modulo(double a, double b) {
  if (b == 0) throw ArithmeticError("division by zero");
  const double rest = std::fmod(a, b);
  if (rest == 0) return std::copysign(0.0, b);
  return (rest < 0) != (b < 0) ? rest + b : rest;
}

// The quotient is computed from the remainder, so that a == (a // b) * b + a % b holds as closely as possible
// (CPython's float_divmod).
double floor_divide(double a, double b) {
  if (b == 0) throw ArithmeticError("division by zero");
  const double rest = std::fmod(a, b);
  double quotient = (a - rest) / b;
  if (rest != 0 && (rest < 0) != (b < 0)) quotient -= 1;
  if (quotient == 0) return std::copysign(0.0, a / b);
  const double floored = std::floor(quotient);
  return quotient - floored > 0.5 ? floored + 1 : floored;
}

// Rounded once, as in Python: the quotient has at least 63 bits, and the lowest one is set if there is a remainder.
double divide(std::int64_t a, std::int64_t b) {
  __extension__ using Wide = unsigned __int128;
  const auto magnitude = [](std::int64_t x) {
    return x < 0 ? 0 - static_cast<std::uint64_t>(x) : static_cast<std::uint64_t>(x);
  };
  const int shift = 127 - std::bit_width(magnitude(a));
  const Wide numerator = static_cast<Wide>(magnitude(a)) << shift;
  const Wide quotient = numerator / magnitude(b) | static_cast<Wide>(numerator % magnitude(b) != 0);
  const double result = std::ldexp(static_cast<double>(quotient), -shift);
  return (a < 0) != (b < 0) ? -result : result;
}

Scalar true_divide(const Scalar& left, const Scalar& right) {
  if (right.as_double() == 0) throw ArithmeticError("division by zero");
  if (left.is_integer() && right.is_integer()) return Scalar::of(divide(left.integer, right.integer));
  return Scalar::of(left.as_double() / right.as_double());
}

std::int64_t integer_power(std::int64_t base, std::int64_t exponent) {
  if (base == 0 || base == 1) return exponent == 0 ? 1 : base;
  if (base == -1) return exponent % 2 == 0 ? 1 : -1;
  std::int64_t result = 1;
  for (; exponent > 0; --exponent)  // at most 63 rounds before a base of 2 or more overflows
    if (__builtin_mul_overflow(result, base, &result)) overflow("**");
  return result;
}

Scalar power(const Scalar& left, const Scalar& right) {
  if (left.is_integer() && right.is_integer() && right.integer >= 0)
    return Scalar::of(integer_power(left.integer, right.integer));
  const double base = left.as_double();
  const double exponent = right.as_double();
  if (base == 0 && exponent < 0) throw ArithmeticError("division by zero: 0 to a negative power");
  if (base < 0 && std::isfinite(exponent) && exponent != std::floor(exponent))
    throw ArithmeticError("a negative number to a fractional power is not real");
  const double result = std::pow(base, exponent);
  if (std::isinf(result) && std::isfinite(base) && std::isfinite(exponent))
    throw ArithmeticError("the result of ** does not fit a float");
  return Scalar::of(result);
}

Scalar integer_arithmetic(Arithmetic operation, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  switch (operation) {
    case Arithmetic::add:
      if (__builtin_add_overflow(a, b, &result)) overflow("+");
      return Scalar::of(result);
    case Arithmetic::subtract:
      if (__builtin_sub_overflow(a, b, &result)) overflow("-");
      return Scalar::of(result);
    case Arithmetic::multiply:
      if (__builtin_mul_overflow(a, b, &result)) overflow("*");
      return Scalar::of(result);
    case Arithmetic::floor_divide:
      return Scalar::of(floor_divide(a, b));
    default:
      return Scalar::of(modulo(a, b));
  }
}

Scalar float_arithmetic(Arithmetic operation, double a, double b) {
  switch (operation) {
    case Arithmetic::add:
      return Scalar::of(a + b);
    case Arithmetic::subtract:
      return Scalar::of(a - b);
    case Arithmetic::multiply:
      return Scalar::of(a * b);
    case Arithmetic::floor_divide:
      return Scalar::of(floor_divide(a, b));
    default:
      return Scalar::of(modulo(a, b));
  }
}

// Exact, as in Python: 2^53 + 1 is not equal to 2.0^53.
std::partial_ordering order(std::int64_t a, double b) {
  if (std::isnan(b)) return std::partial_ordering::unordered;
  if (b >= 0x1p63) return std::partial_ordering::less;
  if (b < -0x1p63) return std::partial_ordering::greater;
  const double whole = std::trunc(b);
  const auto integer = static_cast<std::int64_t>(whole);
  if (a != integer) return a <=> integer;
  return 0.0 <=> (b - whole);
}

std::partial_ordering order(const Scalar& left, const Scalar& right) {
  if (left.kind == Scalar::Kind::text) return left.text->compare(*right.text) <=> 0;
  const bool left_float = left.kind == Scalar::Kind::floating;
  const bool right_float = right.kind == Scalar::Kind::floating;
  if (left_float && right_float) return left.floating <=> right.floating;
  if (right_float) return order(left.integer, right.floating);
  if (left_float) return 0 <=> order(right.integer, left.floating);
  return left.integer <=> right.integer;
}

}  // namespace

Scalar Scalar::of(const Value& value) noexcept {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return of(*integer);
  if (const auto* boolean = std::get_if<bool>(&value)) return of(*boolean);
  if (const auto* floating = std::get_if<double>(&value)) return of(*floating);
  Scalar scalar;
  scalar.kind = Kind::text;
  scalar.text = std::get_if<std::string>(&value);
  return scalar;
}

Value Scalar::value() const {
  switch (kind) {
    case Kind::boolean:
      return integer != 0;
    case Kind::integer:
      return integer;
    case Kind::floating:
      return floating;
    case Kind::text:
      return *text;
  }
  return false;
}

const char* Scalar::type_name() const noexcept {
  switch (kind) {
    case Kind::boolean:
      return "a boolean";
    case Kind::integer:
      return "an integer";
    case Kind::floating:
      return "a float";
    case Kind::text:
      return "a string";
  }
  return "nothing";
}

const char* symbol(Arithmetic operation) noexcept {
  constexpr const char* symbols[] = {"+", "-", "*", "/", "//", "%", "**"};
  return symbols[static_cast<std::size_t>(operation)];
}

const char* symbol(Relation comparison) noexcept {
  constexpr const char* symbols[] = {"==", "!=", "<", "<=", ">", ">="};
  return symbols[static_cast<std::size_t>(comparison)];
}

Scalar calculate(Arithmetic operation, const Scalar& left, const Scalar& right) {
  if (!left.is_number() || !right.is_number()) mismatch(symbol(operation), left, right);
  if (operation == Arithmetic::divide) return true_divide(left, right);
  if (operation == Arithmetic::power) return power(left, right);
  if (left.is_integer() && right.is_integer()) return integer_arithmetic(operation, left.integer, right.integer);
  return float_arithmetic(operation, left.as_double(), right.as_double());
}

Scalar negate(const Scalar& operand) {
  if (!operand.is_number()) throw ArithmeticError("cannot negate a string");
  if (operand.kind == Scalar::Kind::floating) return Scalar::of(-operand.floating);
  if (operand.integer == lowest) overflow("-");
  return Scalar::of(-operand.integer);
}

Scalar unary_plus(const Scalar& operand) {
  if (!operand.is_number()) throw ArithmeticError("cannot use + on a string");
  return operand.kind == Scalar::Kind::floating ? operand : Scalar::of(operand.integer);
}

bool compare(Relation comparison, const Scalar& left, const Scalar& right) {
  if (left.is_number() != right.is_number()) {  // Python: never equal, and not ordered
    if (comparison == Relation::equal) return false;
    if (comparison == Relation::not_equal) return true;
    mismatch(symbol(comparison), left, right);
  }
  const std::partial_ordering ordering = order(left, right);
  switch (comparison) {
    case Relation::equal:
      return ordering == 0;
    case Relation::not_equal:
      return ordering != 0;
    case Relation::less:
      return ordering < 0;
    case Relation::less_equal:
      return ordering <= 0;
    case Relation::greater:
      return ordering > 0;
    case Relation::greater_equal:
      return ordering >= 0;
  }
  return false;
}

bool truth(const Scalar& scalar) noexcept {
  if (scalar.kind == Scalar::Kind::text) return !scalar.text->empty();
  return scalar.kind == Scalar::Kind::floating ? scalar.floating != 0 : scalar.integer != 0;
}

}  // namespace xtune::space::expr
