// Rebuilds the tree of an expression from its flat code.
#include "core/space/constraint_tree.hpp"

#include <algorithm>

namespace xtune::space {

namespace {

using Kind = ConstraintTree::Kind;
using Node = ConstraintTree::Node;

std::size_t operands_of(const expr::Instruction& instruction) noexcept {
  switch (instruction.opcode) {
    case expr::Opcode::arithmetic:
    case expr::Opcode::compare:
      return 2;
    case expr::Opcode::contains:
      return instruction.operand + std::size_t{1};
    case expr::Opcode::call:
      return instruction.operand;
    default:
      return 1;
  }
}

/// Rebuilds the tree that the parser flattened.
class TreeBuilder {
 public:
  TreeBuilder(std::vector<Node>& nodes, const BoundConstraint& constraint, std::span<const expr::Scalar> first_values)
      : nodes_(nodes), constraint_(constraint), code_(constraint.expression().code()), first_values_(first_values) {}

  /// The value that the instructions [at, end) leave on the stack.
  std::uint32_t build(std::size_t at, std::size_t end, std::vector<std::uint32_t> stack) {
    while (at < end) {
      const expr::Instruction& instruction = code_.instructions[at];
      switch (instruction.opcode) {
        case expr::Opcode::constant:
          stack.push_back(constant(code_.constants[instruction.operand]));
          break;
        case expr::Opcode::name:
          stack.push_back(name(instruction.operand));
          break;
        case expr::Opcode::skip_if_false:
        case expr::Opcode::skip_if_true: {
          const std::uint32_t left = take(stack);
          const std::uint32_t right = build(at + 1, instruction.operand, {});
          stack.push_back(
              add(instruction.opcode == expr::Opcode::skip_if_false ? Kind::both : Kind::any, {left, right}));
          at = instruction.operand;
          continue;
        }
        case expr::Opcode::branch: {
          const std::uint32_t condition = take(stack);
          const std::size_t other = instruction.operand, after = code_.instructions[other - 1].operand;
          const std::uint32_t value = build(at + 1, other - 1, {});
          stack.push_back(add(Kind::choice, {condition, value, build(other, after, {})}));
          at = after;
          continue;
        }
        case expr::Opcode::chain: {
          const std::uint32_t right = take(stack), left = take(stack);
          expr::Instruction relation = instruction;
          relation.opcode = expr::Opcode::compare;
          const std::uint32_t first = add(Kind::operation, {left, right}, relation);
          const std::uint32_t rest = build(at + 1, instruction.operand, {right});
          stack.push_back(add(Kind::both, {first, rest}));
          at = instruction.operand;
          continue;
        }
        default: {
          const std::size_t count = operands_of(instruction);
          std::vector<std::uint32_t> operands(stack.end() - static_cast<std::ptrdiff_t>(count), stack.end());
          stack.resize(stack.size() - count);
          stack.push_back(add(Kind::operation, std::move(operands), instruction));
        }
      }
      ++at;
    }
    return stack.back();
  }

 private:
  static std::uint32_t take(std::vector<std::uint32_t>& stack) {
    const std::uint32_t top = stack.back();
    stack.pop_back();
    return top;
  }
  std::uint32_t add(Kind kind, std::vector<std::uint32_t> children, const expr::Instruction& instruction = {}) {
    Node node;
    node.kind = kind;
    node.instruction = instruction;
    node.children = std::move(children);
    nodes_.push_back(std::move(node));
    return static_cast<std::uint32_t>(nodes_.size() - 1);
  }
  std::uint32_t constant(const expr::Scalar& value) {
    const std::uint32_t node = add(Kind::constant, {});
    nodes_[node].constant = value;
    return node;
  }
  std::uint32_t name(std::uint32_t use) {
    const BoundConstraint::Source& source = constraint_.sources()[use];
    if (!source.is_parameter) return constant(source.constant);
    const auto& members = constraint_.parameters();
    if (!std::binary_search(members.begin(), members.end(), source.position))  // it has only one value
      return constant(first_values_[source.position]);
    const std::uint32_t node = add(Kind::parameter, {});
    nodes_[node].member = source.position;
    return node;
  }

  std::vector<Node>& nodes_;
  const BoundConstraint& constraint_;
  const Expression::Code& code_;
  std::span<const expr::Scalar> first_values_;
};

}  // namespace

ConstraintTree::ConstraintTree(const BoundConstraint& constraint, std::span<const expr::Scalar> first_values) {
  TreeBuilder builder(nodes, constraint, first_values);
  root = builder.build(0, constraint.expression().code().instructions.size(), {});
}

}  // namespace xtune::space
