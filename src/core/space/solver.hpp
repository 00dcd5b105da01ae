// Finds the valid combinations of parameters that share constraints, as a decision diagram: prefixes with the same
// completions share a node.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/space/code.hpp"
#include "core/space/space.hpp"

namespace xtune::space {

/// One layer for each parameter, from the first: the edges of each node, ascending by value. Children are numbered
/// within the next layer; the children of the last layer are the single end node, 0.
struct DiagramLayer {
  struct Edge {
    std::uint32_t value, child;
  };
  std::vector<std::uint64_t> first_edges{0};  ///< for each node; one more than there are nodes
  std::vector<Edge> edges;
};

/// A reduced, ordered multi-valued decision diagram. It stores the number of combinations below each node, so that they
/// are numbered in lexicographic order without being listed. Source: Srinivasan, Kam, Malik and Brayton, "Algorithms
/// for discrete function manipulation" (1990). Immutable once built; 16 bytes for each edge.
class Diagram {
 public:
  struct Edge {
    std::uint32_t value, child;
    std::uint64_t before;  ///< combinations below the node's earlier edges
  };

  /// The diagram without combinations.
  Diagram() = default;
  /// Reduces the layers from the last to the first: removes nodes without a path to the end and merges equal ones.
  /// nullopt: more than 2^63 combinations.
  static std::optional<Diagram> reduce(std::vector<DiagramLayer> layers);
  /// The diagram of listed combinations, which are sorted, distinct, and of equal length.
  static Diagram of_rows(const std::vector<std::vector<std::uint32_t>>& rows, std::size_t length);

  std::uint64_t size() const noexcept { return counts_.empty() ? 0 : counts_[root_]; }
  std::uint32_t root() const noexcept { return root_; }
  /// The number of combinations below a node.
  std::uint64_t count(std::uint32_t node) const noexcept { return counts_[node]; }
  /// The edge with this value, or nullptr.
  const Edge* find(std::uint32_t node, std::uint32_t value) const noexcept;
  /// The edge that leads to the combination at this position; position < count(node).
  const Edge& at(std::uint32_t node, std::uint64_t position) const noexcept;

  std::size_t nodes() const noexcept { return counts_.size(); }
  std::size_t bytes() const noexcept;

 private:
  std::uint32_t root_ = 0;
  std::vector<std::uint64_t> counts_;  // node 0 is the end node
  std::vector<std::uint64_t> first_edges_;
  std::vector<Edge> edges_;
};

/// A constraint whose names are resolved to parameters' positions or to constants.
class BoundConstraint {
 public:
  /// Throws ConstraintError for a name that is neither.
  BoundConstraint(std::size_t number, const Expression& expression, const std::vector<Parameter>& parameters,
                  const Bindings& constants);

  /// Positions of the parameters that it uses and that have more than one value, ascending.
  const std::vector<std::uint32_t>& parameters() const noexcept { return parameters_; }
  /// values: one for each parameter of the space. Throws ConstraintError with the values if it cannot be evaluated.
  bool holds(std::span<const expr::Scalar> values) const;

  struct Source {
    bool is_parameter = false;
    std::uint32_t position = 0;
    expr::Scalar constant;  ///< refers to strings of the space's constants
  };
  const Expression& expression() const noexcept { return *expression_; }
  /// One source for each name in the expression's code.
  const std::vector<Source>& sources() const noexcept { return sources_; }

 private:
  std::size_t number_;
  const Expression* expression_;
  std::vector<Source> sources_;
  std::vector<std::uint32_t> parameters_;
};

/// The valid combinations of a group of parameters; the diagram's layers follow `order`.
struct Solution {
  std::vector<std::uint32_t> order;
  Diagram diagram;
};
/// The combinations of `members` (positions in `parameters`, ascending) that satisfy all constraints. A constraint is
/// checked as soon as its parameters have values, or earlier if bounds decide it; prefixes that leave the same
/// constraints open are merged. The order is that of the parameters as long as the diagram stays small in it; else an
/// order in which the open parts of the constraints are small. values: one for each parameter, the group's are
/// overwritten. poll: as in Space. Throws Error(unsupported) if every order takes more than max_bytes of memory, or too
/// many steps.
Solution solve(const std::vector<Parameter>& parameters, const std::vector<std::uint32_t>& members,
               const std::vector<const BoundConstraint*>& constraints, std::vector<expr::Scalar>& values,
               const std::function<void()>& poll, std::uint64_t max_bytes = 800'000'000);

/// How much the constraint removes from the whole product, or from a uniform sample if its own product is above 2^20.
ConstraintEffect effect_of(const BoundConstraint& constraint, const std::string& text,
                           const std::vector<Parameter>& parameters);

}  // namespace xtune::space
