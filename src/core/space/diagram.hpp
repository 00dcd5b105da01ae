// The valid combinations of a group of parameters as a decision diagram: prefixes with the same completions share a
// node.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace xtune::space {

/// Layer by layer from the first parameter: the edges of each node, ascending by value. Children are numbered within
/// the next layer; the last layer's children are the one end, 0.
struct DiagramLayer {
  struct Edge {
    std::uint32_t value, child;
  };
  std::vector<std::uint64_t> first_edges{0};  ///< of each node; one more than nodes
  std::vector<Edge> edges;
};

/// A reduced, ordered multi-valued decision diagram that counts what lies below each node, so that combinations are
/// numbered in lexicographic order without being listed. Source: Srinivasan, Kam, Malik and Brayton, "Algorithms for
/// discrete function manipulation" (1990). Immutable once built; 16 bytes an edge.
class Diagram {
 public:
  struct Edge {
    std::uint32_t value, child;
    std::uint64_t before;  ///< combinations below the node's earlier edges
  };

  /// The diagram of nothing.
  Diagram() = default;
  /// Takes the layers apart from the last one backwards: nodes without a way to the end go, equal ones become one.
  /// nullopt: more than 2^63 combinations.
  static std::optional<Diagram> reduce(std::vector<DiagramLayer> layers);
  /// Of listed combinations: sorted, distinct, of equal length.
  static Diagram of_rows(const std::vector<std::vector<std::uint32_t>>& rows, std::size_t length);

  std::uint64_t size() const noexcept { return counts_.empty() ? 0 : counts_[root_]; }
  std::uint32_t root() const noexcept { return root_; }
  /// Combinations below a node.
  std::uint64_t count(std::uint32_t node) const noexcept { return counts_[node]; }
  /// The edge with this value, or nullptr.
  const Edge* find(std::uint32_t node, std::uint32_t value) const noexcept;
  /// The edge below which the position-th combination lies; position < count(node).
  const Edge& at(std::uint32_t node, std::uint64_t position) const noexcept;

  std::size_t nodes() const noexcept { return counts_.size(); }
  std::size_t bytes() const noexcept;

 private:
  std::uint32_t root_ = 0;
  std::vector<std::uint64_t> counts_;  // node 0 is the end
  std::vector<std::uint64_t> first_edges_;
  std::vector<Edge> edges_;
};

}  // namespace xtune::space
