// Expressions: Python's numbers and comparisons, except that integers are 64-bit and an overflow is an error, and the
// functions of the language.
#include "core/space/expression.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <compare>
#include <limits>

#include "base/text.hpp"
#include "core/space/code.hpp"

namespace xtune::space::expr {

namespace {

[[noreturn]] void overflow(const char* operation) {
  throw ArithmeticError(std::string("the result of ") + operation + " does not fit a 64-bit integer");
}

[[noreturn]] void mismatch(const char* operation, const Scalar& left, const Scalar& right) {
  throw ArithmeticError(std::string("cannot use ") + operation + " on " + left.type_name() + " and " +
                        right.type_name());
}

Wide floor_divide(Wide a, Wide b) {
  if (b == 0) throw ArithmeticError("division by zero");
  return a / b - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0);
}

Wide modulo(Wide a, Wide b) { return a - floor_divide(a, b) * b; }

Wide shift(Arithmetic operation, Wide a, Wide count) {
  if (count < 0) throw ArithmeticError("negative shift count");
  if (operation == Arithmetic::shift_right) return a >> std::min<Wide>(count, 100);
  if (a != 0 && count > 64) overflow(symbol(operation));
  return a == 0 ? 0 : a * (Wide{1} << count);
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

// Rounded once, as in Python: the quotient has at least 60 bits, and the lowest one is set if there is a remainder.
double divide(Wide a, Wide b) {
  const Wide divisor = b < 0 ? -b : b;
  Wide numerator = a < 0 ? -a : a;
  const auto low = static_cast<std::uint64_t>(numerator);
  const int shift = low == numerator ? 126 - static_cast<int>(std::bit_width(low)) : 61;  // at most 2^64
  numerator *= Wide{1} << shift;
  const Wide quotient = numerator / divisor | static_cast<Wide>(numerator % divisor != 0);
  const double result = std::ldexp(static_cast<double>(quotient), -shift);
  return (a < 0) != (b < 0) ? -result : result;
}

Scalar true_divide(const Scalar& left, const Scalar& right) {
  if (right.as_double() == 0) throw ArithmeticError("division by zero");
  if (left.is_integer() && right.is_integer()) return Scalar::of(divide(left.whole(), right.whole()));
  return Scalar::of(left.as_double() / right.as_double());
}

Wide integer_power(Wide base, Wide exponent) {
  if (base == 0 || base == 1) return exponent == 0 ? 1 : base;
  if (base == -1) return exponent % 2 == 0 ? 1 : -1;
  Wide result = 1;
  for (; exponent > 0; --exponent)  // at most 126 rounds before a base of 2 or more overflows
    if (__builtin_mul_overflow(result, base, &result)) overflow("**");
  return result;
}

Scalar power(const Scalar& left, const Scalar& right) {
  if (left.is_integer() && right.is_integer() && right.whole() >= 0)
    return Scalar::of(integer_power(left.whole(), right.whole()), "**");
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

Scalar integer_arithmetic(Arithmetic operation, Wide a, Wide b) {
  const auto result = [&]() -> Wide {
    Wide product = 0;
    switch (operation) {
      case Arithmetic::add:
        return a + b;
      case Arithmetic::subtract:
        return a - b;
      case Arithmetic::multiply:
        if (__builtin_mul_overflow(a, b, &product)) overflow("*");
        return product;
      case Arithmetic::floor_divide:
        return floor_divide(a, b);
      case Arithmetic::modulo:
        return modulo(a, b);
      case Arithmetic::bit_and:
        return a & b;
      case Arithmetic::bit_or:
        return a | b;
      case Arithmetic::bit_xor:
        return a ^ b;
      default:
        return shift(operation, a, b);
    }
  };
  return Scalar::of(result(), symbol(operation));
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
std::partial_ordering order(Wide a, double b) {
  if (std::isnan(b)) return std::partial_ordering::unordered;
  if (b >= 0x1p65) return std::partial_ordering::less;
  if (b < -0x1p63) return std::partial_ordering::greater;
  const double whole = std::trunc(b);
  const auto integer = static_cast<Wide>(whole);
  if (a != integer) return a <=> integer;
  return 0.0 <=> (b - whole);
}

std::partial_ordering order(const Scalar& left, const Scalar& right) {
  if (left.kind == Scalar::Kind::text) return left.text->compare(*right.text) <=> 0;
  const bool left_float = left.kind == Scalar::Kind::floating;
  const bool right_float = right.kind == Scalar::Kind::floating;
  if (left_float && right_float) return left.floating <=> right.floating;
  if (right_float) return order(left.whole(), right.floating);
  if (left_float) return 0 <=> order(right.whole(), left.floating);
  return left.whole() <=> right.whole();
}

Scalar extreme(Relation wins, const Scalar* arguments, std::size_t count) {
  const Scalar* best = arguments;
  for (std::size_t i = 1; i < count; ++i)
    if (compare(wins, arguments[i], *best)) best = arguments + i;
  return *best;
}

Wide whole(const char* function, const Scalar& argument) {
  if (!argument.is_integer())
    throw ArithmeticError(std::string(function) + " needs an integer, got " + argument.type_name());
  return argument.whole();
}

// -(-a // b): exact for every pair whose result fits, unlike a + b - 1.
Scalar ceiling_divide(const Scalar& a, const Scalar& b) {
  if (!a.is_number() || !b.is_number()) throw ArithmeticError("ceildiv needs numbers, got a string");
  if (!a.is_integer() || !b.is_integer()) return negate(calculate(Arithmetic::floor_divide, negate(a), b));
  return Scalar::of(-floor_divide(-a.whole(), b.whole()), "ceildiv");
}

Scalar next_power_of_two(const Scalar& argument) {
  const Wide value = whole("pow2", argument);
  Wide power = 1;
  while (power < value) power *= 2;
  return Scalar::of(power, "pow2");
}

Scalar exact_log2(const Scalar& argument) {
  const Wide value = whole("log2", argument);
  std::int64_t log = 0;
  while (Wide{1} << log < value) ++log;
  if (value != Wide{1} << log) throw ArithmeticError("log2 needs a power of two, got " + to_text(argument.value()));
  return Scalar::of(log);
}

Scalar to_integer(const Scalar& argument) {
  if (!argument.is_number()) throw ArithmeticError("int needs a number, got a string");
  if (argument.is_integer()) return unary_plus(argument);
  const double value = std::trunc(argument.floating);
  if (!(value >= -0x1p63 && value <= 0x1p64))
    throw ArithmeticError("int of " + to_text(argument.floating) + " does not fit a 64-bit integer");
  return Scalar::of(static_cast<Wide>(value), "int");
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
  const auto value = static_cast<std::int64_t>(whole("device.max_active_clusters", argument));
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
  const auto fact = [&](std::size_t number) {
    return static_cast<std::int64_t>(whole("device.max_active_clusters", arguments[3 + number]));
  };
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

Scalar Scalar::of(const Value& value) noexcept {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return of(*integer);
  if (const auto* boolean = std::get_if<bool>(&value)) return of(*boolean);
  if (const auto* floating = std::get_if<double>(&value)) return of(*floating);
  Scalar scalar;
  scalar.kind = Kind::text;
  scalar.text = std::get_if<std::string>(&value);
  return scalar;
}

Scalar Scalar::of(Wide value, const char* operation) {
  constexpr Wide most = std::numeric_limits<std::int64_t>::max(), least = std::numeric_limits<std::int64_t>::min();
  if (value >= least && value <= most) return of(static_cast<std::int64_t>(value));
  if (value < least || value > Wide{1} << 64) overflow(operation);
  Scalar scalar;
  scalar.kind = Kind::large;
  scalar.below = static_cast<std::uint64_t>(value - 1);
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
    case Kind::large:
      return below == std::numeric_limits<std::uint64_t>::max() ? "18446744073709551616" : std::to_string(below + 1);
  }
  return false;
}

const char* Scalar::type_name() const noexcept {
  switch (kind) {
    case Kind::boolean:
      return "a boolean";
    case Kind::integer:
    case Kind::large:
      return "an integer";
    case Kind::floating:
      return "a float";
    case Kind::text:
      return "a string";
  }
  return "nothing";
}

bool is_logical(Arithmetic operation) noexcept {
  return operation == Arithmetic::bit_and || operation == Arithmetic::bit_or || operation == Arithmetic::bit_xor;
}

const char* symbol(Arithmetic operation) noexcept {
  constexpr const char* symbols[] = {"+", "-", "*", "/", "//", "%", "**", "&", "|", "^", "<<", ">>"};
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
  if (left.is_integer() && right.is_integer()) {
    const bool flags = left.kind == Scalar::Kind::boolean && right.kind == Scalar::Kind::boolean;
    const Scalar result = integer_arithmetic(operation, left.whole(), right.whole());
    return flags && is_logical(operation) ? Scalar::of(result.integer != 0) : result;
  }
  if (is_logical(operation) || operation == Arithmetic::shift_left || operation == Arithmetic::shift_right)
    mismatch(symbol(operation), left, right);
  return float_arithmetic(operation, left.as_double(), right.as_double());
}

Scalar negate(const Scalar& operand) {
  if (!operand.is_number()) throw ArithmeticError("cannot negate a string");
  if (operand.kind == Scalar::Kind::floating) return Scalar::of(-operand.floating);
  return Scalar::of(-operand.whole(), "-");
}

Scalar unary_plus(const Scalar& operand) {
  if (!operand.is_number()) throw ArithmeticError("cannot use + on a string");
  return operand.kind == Scalar::Kind::boolean ? Scalar::of(operand.integer) : operand;
}

Scalar invert(const Scalar& operand) {
  if (!operand.is_integer()) throw ArithmeticError(std::string("cannot use ~ on ") + operand.type_name());
  return Scalar::of(~operand.whole(), "~");
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
  return scalar.kind == Scalar::Kind::floating ? scalar.floating != 0 : scalar.whole() != 0;
}

Scalar call(Function function, const Scalar* arguments, std::size_t count) {
  switch (function) {
    case Function::min:
      return extreme(Relation::less, arguments, count);
    case Function::max:
      return extreme(Relation::greater, arguments, count);
    case Function::abs: {
      if (!arguments->is_number()) throw ArithmeticError("abs needs a number, got a string");
      const bool negative =
          arguments->kind == Scalar::Kind::floating ? std::signbit(arguments->floating) : arguments->whole() < 0;
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

namespace xtune::space {

Expression::Expression(std::shared_ptr<const Code> code) : code_(std::move(code)) {}

Expression Expression::parse(std::string_view text, const Derived* derived) {
  return Expression(std::make_shared<const Code>(expr::parse(text, derived)));
}

Value Expression::evaluate(const Lookup& lookup) const {
  const auto load = [&](std::size_t index) {
    const expr::NameUse& use = code_->uses[index];
    const Value* const value = lookup(use.name);
    if (value == nullptr) throw ExpressionError("unknown name '" + use.name + "'", use.column, use.name);
    return expr::Scalar::of(*value);
  };
  return expr::run(*code_, load).value();
}

const std::set<std::string, std::less<>>& Expression::names() const { return code_->names; }

std::size_t Expression::column_of(std::string_view name) const {
  for (const expr::NameUse& use : code_->uses)
    if (use.name == name) return use.column;
  return 0;
}

const std::string& Expression::text() const { return code_->text; }

bool truth(const Value& value) noexcept { return expr::truth(expr::Scalar::of(value)); }

bool is_always_a_number(const Expression& expression) noexcept {
  using expr::Opcode;
  const auto& instructions = expression.code().instructions;
  // If a jump leads to the end, the last instruction is not the only one that may be executed last.
  for (const expr::Instruction& each : instructions)
    if (expr::is_jump(each.opcode) && each.operand >= instructions.size()) return false;
  const Opcode last = instructions.back().opcode;
  if (last == Opcode::arithmetic) return !expr::is_logical(static_cast<expr::Arithmetic>(instructions.back().detail));
  return last == Opcode::negate || last == Opcode::plus || last == Opcode::invert || last == Opcode::call;
}

}  // namespace xtune::space
