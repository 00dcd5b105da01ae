// An expression as code: the evaluator's values with Python's arithmetic, instructions for a small stack machine, and
// the machine. The code is flat, so that nested text cannot overflow a stack.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/space/expression.hpp"
#include "core/space/value.hpp"

namespace xtune::space::expr {

__extension__ using Wide = __int128;

/// A string is not owned: it lives in the Value or the expression that the scalar was made from.
struct Scalar {
  enum class Kind : std::uint8_t { boolean, integer, floating, text, large };
  Kind kind = Kind::integer;
  union {
    std::int64_t integer = 0;  ///< also 0 or 1 for a boolean
    double floating;
    const std::string* text;
    std::uint64_t below;  ///< large: an integer from 2^63 to 2^64, less one
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
  /// Throws ArithmeticError for an integer below -2^63 or above 2^64. operation: for the error.
  static Scalar of(Wide value, const char* operation);
  /// An integer above 2^63 - 1 as its digits in text, because a Value has none that is so large.
  Value value() const;
  const char* type_name() const noexcept;
  /// Booleans count as integers, as in Python.
  bool is_integer() const noexcept { return kind != Kind::floating && kind != Kind::text; }
  bool is_number() const noexcept { return kind != Kind::text; }
  /// Of an integer.
  Wide whole() const noexcept { return kind == Kind::large ? Wide{below} + 1 : Wide{integer}; }
  double as_double() const noexcept { return kind == Kind::floating ? floating : static_cast<double>(whole()); }
};

enum class Arithmetic : std::uint8_t {
  add,
  subtract,
  multiply,
  divide,
  floor_divide,
  modulo,
  power,
  bit_and,
  bit_or,
  bit_xor,
  shift_left,
  shift_right
};
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
Scalar invert(const Scalar& operand);
bool compare(Relation comparison, const Scalar& left, const Scalar& right);
Scalar call(Function function, const Scalar* arguments, std::size_t count);
bool truth(const Scalar& scalar) noexcept;

/// & | ^, whose result over booleans is one.
bool is_logical(Arithmetic operation) noexcept;
const char* symbol(Arithmetic operation) noexcept;
const char* symbol(Relation comparison) noexcept;

enum class Opcode : std::uint8_t {
  constant,       ///< push constants[operand]
  name,           ///< push the value of names[operand]
  arithmetic,     ///< pop two, push; detail is the Arithmetic
  negate,         ///< pop, push
  plus,           ///< pop, push
  invert,         ///< `~`: pop, push
  logical_not,    ///< pop, push
  compare,        ///< pop two, push a boolean; detail is the Relation
  chain,          ///< pop two; push the right one if the Relation holds, else push false and jump to operand
  skip_if_false,  ///< `and`: jump to operand if the top is false, else pop it
  skip_if_true,   ///< `or`
  branch,         ///< `VALUE if CONDITION else OTHER`: pop; jump to operand, OTHER's code, if it was false
  jump,           ///< after VALUE's code: to operand, after OTHER's; branch's operand is the next instruction
  contains,       ///< pop operand elements and the value before them, push whether it is among them; each is a tuple of
                  ///< `detail` values
  call,           ///< pop operand arguments, push; detail is the Function
};

/// Whether the instruction's operand is the position of another instruction.
constexpr bool is_jump(Opcode opcode) noexcept {
  return opcode == Opcode::chain || opcode == Opcode::skip_if_false || opcode == Opcode::skip_if_true ||
         opcode == Opcode::branch || opcode == Opcode::jump;
}

struct Instruction {
  Opcode opcode;
  std::uint8_t detail = 0;
  std::uint32_t operand = 0;
  std::uint32_t column = 0;
};

struct NameUse {
  std::string name;
  std::size_t column = 0;  ///< of the first use
};

}  // namespace xtune::space::expr

namespace xtune::space {

struct Expression::Code {
  std::string text;
  std::vector<expr::Instruction> instructions;
  std::vector<Value> values;            ///< owns the literals
  std::vector<expr::Scalar> constants;  ///< views of values
  std::vector<expr::NameUse> uses;
  std::set<std::string, std::less<>> names;
  std::size_t stack_size = 0;
};

}  // namespace xtune::space

namespace xtune::space::expr {

/// Throws ExpressionError. Nesting deeper than 200 is refused, and code of more than 100,000 instructions.
Expression::Code parse(std::string_view text, const Expression::Derived* derived);

// The frequent case of index arithmetic, without a call; false if the general case is needed (other types, overflow).
inline bool quick_arithmetic(Arithmetic operation, Scalar& left, const Scalar& right) noexcept {
  if (left.kind != Scalar::Kind::integer || right.kind != Scalar::Kind::integer) return false;
  std::int64_t result = 0;
  switch (operation) {
    case Arithmetic::add:
      if (__builtin_add_overflow(left.integer, right.integer, &result)) return false;
      break;
    case Arithmetic::subtract:
      if (__builtin_sub_overflow(left.integer, right.integer, &result)) return false;
      break;
    case Arithmetic::multiply:
      if (__builtin_mul_overflow(left.integer, right.integer, &result)) return false;
      break;
    case Arithmetic::modulo:
      if (left.integer < 0 || right.integer <= 0) return false;
      result = left.integer % right.integer;
      break;
    case Arithmetic::floor_divide:
      if (left.integer < 0 || right.integer <= 0) return false;
      result = left.integer / right.integer;
      break;
    default:
      return false;
  }
  left.integer = result;
  return true;
}

inline bool quick_compare(Relation relation, const Scalar& left, const Scalar& right) {
  if (left.kind != Scalar::Kind::integer || right.kind != Scalar::Kind::integer) return compare(relation, left, right);
  switch (relation) {
    case Relation::equal:
      return left.integer == right.integer;
    case Relation::not_equal:
      return left.integer != right.integer;
    case Relation::less:
      return left.integer < right.integer;
    case Relation::less_equal:
      return left.integer <= right.integer;
    case Relation::greater:
      return left.integer > right.integer;
    case Relation::greater_equal:
      return left.integer >= right.integer;
  }
  return false;
}

/// One instruction other than a constant, a name or a jump, over the operands below top. Returns the new top.
inline Scalar* operate(const Instruction& instruction, Scalar* top) {
  switch (instruction.opcode) {
    case Opcode::arithmetic: {
      const auto operation = static_cast<Arithmetic>(instruction.detail);
      if (!quick_arithmetic(operation, top[-2], top[-1])) top[-2] = calculate(operation, top[-2], top[-1]);
      return top - 1;
    }
    case Opcode::negate:
      top[-1] = negate(top[-1]);
      return top;
    case Opcode::plus:
      top[-1] = unary_plus(top[-1]);
      return top;
    case Opcode::invert:
      top[-1] = invert(top[-1]);
      return top;
    case Opcode::logical_not:
      top[-1] = Scalar::of(!truth(top[-1]));
      return top;
    case Opcode::compare:
      top[-2] = Scalar::of(quick_compare(static_cast<Relation>(instruction.detail), top[-2], top[-1]));
      return top - 1;
    case Opcode::contains: {
      const std::size_t width = instruction.detail;
      Scalar* const value = top - (instruction.operand + 1) * width;
      bool found = false;
      for (Scalar* element = value + width; element != top && !found; element += width)
        found = std::equal(value, value + width, element, [](const Scalar& left, const Scalar& right) {
          return quick_compare(Relation::equal, left, right);
        });
      *value = Scalar::of(found);
      return value + 1;
    }
    default: {
      Scalar* const arguments = top - instruction.operand;
      *arguments = call(static_cast<Function>(instruction.detail), arguments, instruction.operand);
      return arguments + 1;
    }
  }
}

template <class Load>
Scalar run_on(const Expression::Code& code, Scalar* stack, Load&& load) {
  Scalar* top = stack;  // one past the last operand
  const Instruction* const begin = code.instructions.data();
  const Instruction* const end = begin + code.instructions.size();
  const Instruction* at = begin;
  try {
    while (at != end) {
      switch (at->opcode) {
        case Opcode::constant:
          *top++ = code.constants[at->operand];
          break;
        case Opcode::name:
          *top++ = load(at->operand);
          break;
        case Opcode::skip_if_false:
        case Opcode::skip_if_true:
          if (truth(top[-1]) == (at->opcode == Opcode::skip_if_true)) {
            at = begin + at->operand;
            continue;
          }
          --top;
          break;
        case Opcode::branch:
          at = truth(*--top) ? at + 1 : begin + at->operand;
          continue;
        case Opcode::jump:
          at = begin + at->operand;
          continue;
        case Opcode::chain:
          if (!quick_compare(static_cast<Relation>(at->detail), top[-2], top[-1])) {
            top[-2] = Scalar::of(false);
            --top;
            at = begin + at->operand;
            continue;
          }
          top[-2] = top[-1];
          --top;
          break;
        default:
          top = operate(*at, top);
      }
      ++at;
    }
  } catch (const ArithmeticError& error) {
    throw ExpressionError(error.what(), at->column);
  }
  return top[-1];
}

template <class Load>
Scalar run(const Expression::Code& code, Load&& load) {
  if (code.stack_size <= 32) {
    std::array<Scalar, 32> stack;
    return run_on(code, stack.data(), load);
  }
  std::vector<Scalar> stack(code.stack_size);
  return run_on(code, stack.data(), load);
}

}  // namespace xtune::space::expr
