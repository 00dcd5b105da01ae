// A parsed expression as instructions for a small stack machine. It is flat, so that nested text cannot overflow a
// stack.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "core/space/expression.hpp"
#include "core/space/scalar.hpp"

namespace xtune::space::expr {

enum class Opcode : std::uint8_t {
  constant,       ///< push constants[operand]
  name,           ///< push the value of names[operand]
  arithmetic,     ///< pop two, push; detail is the Arithmetic
  negate,         ///< pop, push
  plus,           ///< pop, push
  logical_not,    ///< pop, push
  compare,        ///< pop two, push a boolean; detail is the Relation
  chain,          ///< pop two; push the right one if the Relation holds, else push false and jump to operand
  skip_if_false,  ///< `and`: jump to operand if the top is false, else pop it
  skip_if_true,   ///< `or`
  branch,         ///< `VALUE if CONDITION else OTHER`: pop; jump to operand, OTHER's code, if it was false
  jump,           ///< after VALUE's code: to operand, after OTHER's; branch's operand is the next instruction
  contains,       ///< pop operand elements and the value before them, push whether it is among them
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

}  // namespace xtune::space::expr
