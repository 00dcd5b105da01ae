// The valid combinations of a group of parameters as a decision diagram: prefixes with the same completions share a
// node.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

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

}  // namespace xtune::space
