// A constraint as a tree.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/space/code.hpp"
#include "core/space/solver.hpp"

namespace xtune::space {

/// The expression of a constraint; its leaves are constants and the parameters of a group.
struct ConstraintTree {
  enum class Kind : std::uint8_t {
    constant,
    parameter,
    operation,
    both,   ///< Python's `and`
    any,    ///< Python's `or`
    choice  ///< a condition, the value if it holds, and the value if it does not
  };
  struct Node {
    Kind kind = Kind::constant;
    expr::Scalar constant;          ///< of a constant
    std::uint32_t member = 0;       ///< of a parameter: its position in the space
    expr::Instruction instruction;  ///< of an operation
    std::vector<std::uint32_t> children;
  };
  std::vector<Node> nodes;  ///< children before parents
  std::uint32_t root = 0;

  explicit ConstraintTree(const BoundConstraint& constraint, std::span<const expr::Scalar> first_values);
};

}  // namespace xtune::space
