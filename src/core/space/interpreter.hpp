// The stack machine that evaluates an expression's code.
#pragma once

#include <array>

#include "core/space/code.hpp"

namespace xtune::space::expr {

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
    case Opcode::logical_not:
      top[-1] = Scalar::of(!truth(top[-1]));
      return top;
    case Opcode::compare:
      top[-2] = Scalar::of(quick_compare(static_cast<Relation>(instruction.detail), top[-2], top[-1]));
      return top - 1;
    case Opcode::contains: {
      Scalar* const value = top - instruction.operand - 1;
      bool found = false;
      for (Scalar* element = value + 1; element != top && !found; ++element)
        found = quick_compare(Relation::equal, *value, *element);
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
