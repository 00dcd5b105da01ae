// Conservative interval arithmetic: results that rounding or overflow may affect are widened or unknown.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "core/space/residual.hpp"

namespace xtune::space::expr {

namespace {

constexpr double max_exact = 0x1p53;

Bounds checked(double low, double high, bool whole) noexcept {
  if (!whole) {
    low = std::nextafter(low, -std::numeric_limits<double>::infinity());
    high = std::nextafter(high, std::numeric_limits<double>::infinity());
  }
  if (!(low >= -max_exact) || !(high <= max_exact)) return {};
  return {true, whole, low, high};
}

/// From the values at the corners, if the operation is monotone in each operand.
template <class Operation>
Bounds at_corners(const Bounds& a, const Bounds& b, bool whole, Operation operation) noexcept {
  const std::array<double, 4> corners{operation(a.low, b.low), operation(a.low, b.high), operation(a.high, b.low),
                                      operation(a.high, b.high)};
  const auto [low, high] = std::minmax_element(corners.begin(), corners.end());
  return checked(*low, *high, whole);
}

bool excludes_zero(const Bounds& b) noexcept { return b.low > 0 || b.high < 0; }

// Exact for whole operands below 2^53: the quotient of doubles may round up to an integer, its remainder does not.
double floor_quotient(double a, double b) noexcept {
  const double quotient = std::floor(a / b);
  const bool too_large = b > 0 ? quotient * b > a : quotient * b < a;
  return too_large ? quotient - 1 : quotient;
}

Bounds modulo(const Bounds& a, const Bounds& b) noexcept {
  if (!a.whole || !b.whole || b.low <= 0) return {};
  if (a.low >= 0 && a.high < b.low) return a;
  return {true, true, 0, b.high - 1};
}

Bounds power(const Bounds& a, const Bounds& b) noexcept {
  if (!a.whole || !b.whole || a.low < 1 || b.low < 0) return {};
  return checked(std::pow(a.low, b.low), std::pow(a.high, b.high), true);
}

Bounds arithmetic(Arithmetic operation, const Bounds& a, const Bounds& b) noexcept {
  const bool whole = a.whole && b.whole;
  switch (operation) {
    case Arithmetic::add:
      return checked(a.low + b.low, a.high + b.high, whole);
    case Arithmetic::subtract:
      return checked(a.low - b.high, a.high - b.low, whole);
    case Arithmetic::multiply:
      return at_corners(a, b, whole, [](double x, double y) { return x * y; });
    case Arithmetic::divide:
      if (!excludes_zero(b)) return {};
      return at_corners(a, b, false, [](double x, double y) { return x / y; });
    case Arithmetic::floor_divide:
      if (!whole || !excludes_zero(b)) return {};
      return at_corners(a, b, true, floor_quotient);
    case Arithmetic::modulo:
      return modulo(a, b);
    case Arithmetic::power:
      return power(a, b);
    case Arithmetic::bit_and:
      if (!whole || a.low < 0 || b.low < 0) return {};
      return {true, true, 0, std::min(a.high, b.high)};
    default:
      return {};
  }
}

double next_power_of_two(double value) noexcept {
  return static_cast<double>(std::bit_ceil(static_cast<std::uint64_t>(value)));
}

Bounds call(Function function, std::span<const Bounds> operands) noexcept {
  Bounds result = operands.front();
  switch (function) {
    case Function::min:
    case Function::max:
      for (const Bounds& operand : operands.subspan(1)) {
        const auto pick = [&](double a, double b) {
          return function == Function::min ? std::min(a, b) : std::max(a, b);
        };
        result = {true, result.whole && operand.whole, pick(result.low, operand.low), pick(result.high, operand.high)};
      }
      return result;
    case Function::abs:
      if (result.low >= 0) return result;
      if (result.high <= 0) return {true, result.whole, -result.high, -result.low};
      return {true, result.whole, 0, std::max(-result.low, result.high)};
    case Function::ceildiv:
      if (operands.size() != 2 || !result.whole || !operands[1].whole || !excludes_zero(operands[1])) return {};
      return at_corners(result, operands[1], true, [](double x, double y) { return -floor_quotient(-x, y); });
    case Function::pow2:
      if (!result.whole || result.low < 1) return {};
      return checked(next_power_of_two(result.low), next_power_of_two(result.high), true);
    case Function::log2:
    case Function::to_int:
    case Function::to_float:
    case Function::max_active_clusters:
      return {};
  }
  return {};
}

}  // namespace

Bounds bounds_of(const Scalar& scalar) noexcept {
  if (!scalar.is_number()) return {};
  const double value = scalar.as_double();
  if (!(std::abs(value) <= max_exact)) return {};
  return {true, scalar.is_integer(), value, value};
}

Bounds unite(const Bounds& left, const Bounds& right) noexcept {
  if (!left.known || !right.known) return {};
  return {true, left.whole && right.whole, std::min(left.low, right.low), std::max(left.high, right.high)};
}

Bounds apply(const Instruction& instruction, std::span<const Bounds> operands) noexcept {
  if (operands.empty() || !std::all_of(operands.begin(), operands.end(), [](const Bounds& b) { return b.known; }))
    return {};
  switch (instruction.opcode) {
    case Opcode::arithmetic:
      return arithmetic(static_cast<Arithmetic>(instruction.detail), operands[0], operands[1]);
    case Opcode::negate:
      return {true, operands[0].whole, -operands[0].high, -operands[0].low};
    case Opcode::plus:
      return operands[0];
    case Opcode::call:
      return call(static_cast<Function>(instruction.detail), operands);
    case Opcode::contains:
      return bounds_of(Truth::either);
    default:
      return {};
  }
}

Truth apply(Relation relation, const Bounds& left, const Bounds& right) noexcept {
  if (!left.known || !right.known) return Truth::unknown;
  const auto decide = [](bool yes, bool no) { return yes ? Truth::yes : no ? Truth::no : Truth::either; };
  const bool same = left.low == left.high && right.low == right.high && left.low == right.low;
  const bool apart = left.high < right.low || right.high < left.low;
  switch (relation) {
    case Relation::equal:
      return decide(same, apart);
    case Relation::not_equal:
      return decide(apart, same);
    case Relation::less:
      return decide(left.high < right.low, left.low >= right.high);
    case Relation::less_equal:
      return decide(left.high <= right.low, left.low > right.high);
    case Relation::greater:
      return decide(left.low > right.high, left.high <= right.low);
    case Relation::greater_equal:
      return decide(left.low >= right.high, left.high < right.low);
  }
  return Truth::unknown;
}

Truth truth(const Bounds& bounds) noexcept {
  if (!bounds.known) return Truth::unknown;
  if (excludes_zero(bounds)) return Truth::yes;
  return bounds.low == 0 && bounds.high == 0 ? Truth::no : Truth::either;
}

Bounds bounds_of(Truth truth) noexcept {
  if (truth == Truth::unknown) return {};
  return {true, true, truth == Truth::yes ? 1.0 : 0.0, truth == Truth::no ? 0.0 : 1.0};
}

}  // namespace xtune::space::expr
