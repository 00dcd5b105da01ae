// The part of a constraint that is still open after some of its parameters have values.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/space/code.hpp"
#include "core/space/solver.hpp"

namespace xtune::space::expr {

/// If known is true, all values of a number are in [low, high], and computing them cannot fail; else the rest has no
/// meaning.
struct Bounds {
  bool known = false;
  bool whole = false;  ///< integers that are represented exactly
  double low = 0, high = 0;
};

/// `unknown`: the computation may also fail. The other three exclude that.
enum class Truth : std::uint8_t { unknown, no, yes, either };

}  // namespace xtune::space::expr

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

/// A value that is stored for one constraint and a prefix of values, compared bit by bit: two prefixes with equal cells
/// allow the same completions.
struct Cell {
  enum Tag : std::uint64_t { value = 0, unused = 16, failed = 17, decided = 18 };  ///< value: plus the scalar's kind
  std::uint64_t tag = unused;
  std::uint64_t bits = 0;
  friend bool operator==(const Cell&, const Cell&) = default;
};

/// Follows one constraint while the parameters of its group get their values in a fixed order. Before the parameter at
/// depth d has its value, the constraint is described by the values of the largest parts of its expression that use
/// only parameters before d: for "A * B * C <= 64" with A and B bound, by the product A * B.
class Residual {
 public:
  /// order: positions of the group's parameters, first to last. The tree must outlive this object.
  Residual(const ConstraintTree& tree, const std::vector<Parameter>& parameters,
           const std::vector<std::uint32_t>& order);

  enum class Verdict : std::uint8_t { open, holds, fails, cannot_be_evaluated };
  /// Decides before any parameter has a value, only by the bounds of their values. Never returns cannot_be_evaluated.
  Verdict start();
  std::size_t cells(std::size_t depth) const noexcept { return slots_[depth].size(); }
  /// Gives the parameter at `depth` a value. before: cells(depth); after: room for cells(depth + 1), written if the
  /// constraint stays open, or holds for every completion.
  Verdict bind(std::size_t depth, const expr::Scalar& value, std::span<const Cell> before, std::span<Cell> after);

 private:
  using Slots = std::vector<std::uint32_t>;
  bool is_bound(std::uint32_t node, std::size_t depth) const noexcept { return last_[node] < static_cast<int>(depth); }
  void collect(std::uint32_t node, std::size_t depth, Slots& slots) const;
  Cell compute(std::uint32_t node, std::size_t depth, const expr::Scalar& value, std::span<const Cell> before);
  Cell operate(std::uint32_t node, std::size_t depth, const expr::Scalar& value, std::span<const Cell> before);
  void mark_needed(std::uint32_t node, std::size_t depth, std::span<const Cell> cells);
  void drop_unneeded(std::size_t depth, std::span<Cell> cells);
  expr::Bounds bounds(std::uint32_t node, std::size_t depth, std::span<const Cell> cells) const;
  expr::Truth truth(std::uint32_t node, std::size_t depth, std::span<const Cell> cells) const;

  const ConstraintTree& tree_;
  std::vector<int> last_;                           ///< by node: depth of the last parameter below it; -1: none
  std::vector<expr::Bounds> leaf_bounds_;           ///< by parameter node: over all its values
  std::vector<Slots> slots_;                        ///< by depth: the nodes whose values are stored
  std::vector<std::vector<std::int32_t>> slot_of_;  ///< by depth and node; -1: none
  bool has_logic_ = false;                          ///< contains `and` or `or`
  std::vector<expr::Scalar> stack_;
  std::vector<bool> needed_;  ///< by slot
};

/// An order of the members in which the constraints depend on little at every depth. Chosen greedily, by the number of
/// different values that the stored parts can have.
std::vector<std::uint32_t> narrow_order(const std::vector<ConstraintTree>& trees,
                                        const std::vector<Parameter>& parameters,
                                        const std::vector<std::uint32_t>& members);

}  // namespace xtune::space
