// The functions of the expression language: min max abs ceildiv pow2 log2 int float, and those of a device.
#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>

#include "base/text.hpp"
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

/// As Python's float, which also reads a number's text: the only way to write an infinity or a NaN.
Scalar to_float(const Scalar& argument) {
  if (argument.is_number()) return Scalar::of(argument.as_double());
  std::string_view text = *argument.text;
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  double value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || stop != text.data() + text.size())
    throw ArithmeticError("float of '" + base::printable(*argument.text, 40) +
                          "', which is not a number, 'inf', '-inf' or 'nan'");
  return Scalar::of(value);
}

std::int64_t at_least(const char* what, const Scalar& argument, std::int64_t least) {
  const std::int64_t value = whole("device.max_active_clusters", argument);
  if (value < least)
    throw ArithmeticError(std::string("device.max_active_clusters: ") + what + " must be at least " +
                          std::to_string(least) + ", got " + std::to_string(value));
  return value;
}

/// Arguments: blocks of a cluster, threads and shared bytes of a block; then the facts that the parser adds. A fact of
/// 0 is unknown, and limits nothing. The units that a cluster may use together (GPCs) are not known, so this is an
/// upper bound.
Scalar max_active_clusters(const Scalar* arguments) {
  constexpr std::int64_t reserved_bytes = 1024;  // of each block's shared memory, for the system (CUDA, cc 8.0 on)
  const std::int64_t blocks = at_least("the cluster's size", arguments[0], 1);
  const std::int64_t threads = at_least("the number of threads", arguments[1], 1);
  const std::int64_t shared_bytes = at_least("the shared memory", arguments[2], 0);
  const auto fact = [&](std::size_t number) { return whole("device.max_active_clusters", arguments[3 + number]); };
  const std::int64_t units = fact(0), warp = std::max<std::int64_t>(fact(1), 1), unit_threads = fact(2);
  const std::int64_t unit_shared_bytes = fact(3), max_blocks = fact(4);
  if (blocks > max_blocks) return Scalar::of(std::int64_t{0});
  std::int64_t per_unit = 1;
  if (unit_threads > 0) per_unit = threads > unit_threads ? 0 : unit_threads / ((threads + warp - 1) / warp * warp);
  if (unit_shared_bytes > 0) {
    // The most that a block may have fits a unit, also where nothing is reserved (on a CPU).
    const std::int64_t fit = std::max<std::int64_t>(unit_shared_bytes / (shared_bytes + reserved_bytes), 1);
    per_unit = std::min(per_unit, shared_bytes > unit_shared_bytes ? 0 : fit);
  }
  return Scalar::of(units * per_unit / blocks);
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
      return to_float(*arguments);
    case Function::max_active_clusters:
      return max_active_clusters(arguments);
  }
  throw ArithmeticError("unknown function");
}

}  // namespace xtune::space::expr
