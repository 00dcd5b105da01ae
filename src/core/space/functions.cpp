// The functions of the expression language: min max abs ceildiv pow2 log2 int float.
#include <bit>
#include <cmath>

#include "core/space/scalar.hpp"

namespace xtune::space::expr {

namespace {

Scalar extreme(Relation wins, const Scalar* arguments, std::size_t count) {
  const Scalar* best = arguments;
  for (std::size_t i = 1; i < count; ++i)
    if (compare(wins, arguments[i], *best)) best = arguments + i;
  return *best;
}

std::int64_t whole(const char* function, const Scalar& argument) {
  if (!argument.is_integer())
    throw ArithmeticError(std::string(function) + " needs an integer, got " + argument.type_name());
  return argument.integer;
}

// -(-a // b): exact for every pair whose result fits, unlike a + b - 1.
Scalar ceiling_divide(const Scalar& a, const Scalar& b) {
  if (!a.is_number() || !b.is_number()) throw ArithmeticError("ceildiv needs numbers, got a string");
  if (!a.is_integer() || !b.is_integer()) return negate(calculate(Arithmetic::floor_divide, negate(a), b));
  const Scalar quotient = calculate(Arithmetic::floor_divide, a, b);
  const Scalar rest = calculate(Arithmetic::modulo, a, b);
  return rest.integer == 0 ? quotient : Scalar::of(quotient.integer + 1);
}

Scalar next_power_of_two(const Scalar& argument) {
  const std::int64_t value = whole("pow2", argument);
  if (value <= 1) return Scalar::of(std::int64_t{1});
  if (value > (std::int64_t{1} << 62)) throw ArithmeticError("the result of pow2 does not fit a 64-bit integer");
  return Scalar::of(static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(value))));
}

Scalar exact_log2(const Scalar& argument) {
  const std::int64_t value = whole("log2", argument);
  if (value <= 0 || !std::has_single_bit(static_cast<std::uint64_t>(value)))
    throw ArithmeticError("log2 needs a power of two, got " + std::to_string(value));
  return Scalar::of(static_cast<std::int64_t>(std::countr_zero(static_cast<std::uint64_t>(value))));
}

Scalar to_integer(const Scalar& argument) {
  if (!argument.is_number()) throw ArithmeticError("int needs a number, got a string");
  if (argument.is_integer()) return Scalar::of(argument.integer);
  const double value = std::trunc(argument.floating);
  if (!(value >= -0x1p63 && value < 0x1p63))
    throw ArithmeticError("int of " + to_text(argument.floating) + " does not fit a 64-bit integer");
  return Scalar::of(static_cast<std::int64_t>(value));
}

}  // namespace

Scalar call(Function function, const Scalar* arguments, std::size_t count) {
  switch (function) {
    case Function::min:
      return extreme(Relation::less, arguments, count);
    case Function::max:
      return extreme(Relation::greater, arguments, count);
    case Function::abs: {
      if (!arguments->is_number()) throw ArithmeticError("abs needs a number, got a string");
      const bool negative =
          arguments->kind == Scalar::Kind::floating ? std::signbit(arguments->floating) : arguments->integer < 0;
      return negative ? negate(*arguments) : unary_plus(*arguments);
    }
    case Function::ceildiv:
      return ceiling_divide(arguments[0], arguments[1]);
    case Function::pow2:
      return next_power_of_two(*arguments);
    case Function::log2:
      return exact_log2(*arguments);
    case Function::to_int:
      return to_integer(*arguments);
    case Function::to_float:
      if (!arguments->is_number()) throw ArithmeticError("float needs a number, got a string");
      return Scalar::of(arguments->as_double());
  }
  throw ArithmeticError("unknown function");
}

}  // namespace xtune::space::expr
