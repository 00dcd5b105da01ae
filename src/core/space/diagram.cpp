// Reducing, counting and walking decision diagrams.
#include <algorithm>
#include <bit>
#include <limits>

#include "core/space/solver.hpp"

namespace xtune::space {

namespace {

constexpr std::uint32_t dead = std::numeric_limits<std::uint32_t>::max();

/// Numbers of nodes by their edges: open addressing, at most half full.
class NodeTable {
 public:
  explicit NodeTable(std::size_t max_nodes) : slots_(std::max<std::size_t>(16, std::bit_ceil(2 * max_nodes)), dead) {}

  /// The slot of the node for which `same` returns true, else a free one.
  template <class Same>
  std::uint32_t& slot(std::uint64_t hash, Same same) {
    std::size_t at = hash & (slots_.size() - 1);
    while (slots_[at] != dead && !same(slots_[at])) at = (at + 1) & (slots_.size() - 1);
    return slots_[at];
  }

 private:
  std::vector<std::uint32_t> slots_;
};

std::uint64_t mix(std::uint64_t hash, std::uint64_t word) noexcept {
  hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
  return hash ^ (hash >> 29);
}

}  // namespace

std::optional<Diagram> Diagram::reduce(std::vector<DiagramLayer> layers) {
  Diagram diagram;
  diagram.counts_ = {1};
  diagram.first_edges_ = {0, 0};
  std::vector<std::uint32_t> below{0};  // the numbers of the next layer's nodes
  for (; !layers.empty(); layers.pop_back()) {
    const DiagramLayer& layer = layers.back();
    const std::size_t nodes = layer.first_edges.size() - 1;
    NodeTable table(nodes);
    std::vector<std::uint32_t> numbers(nodes, dead);
    for (std::size_t node = 0; node < nodes; ++node) {
      const std::size_t first = diagram.edges_.size();
      std::uint64_t count = 0, hash = 0;
      for (std::uint64_t i = layer.first_edges[node]; i < layer.first_edges[node + 1]; ++i) {
        const std::uint32_t child = below[layer.edges[i].child];
        if (child == dead) continue;
        diagram.edges_.push_back({layer.edges[i].value, child, count});
        hash = mix(hash, std::uint64_t{layer.edges[i].value} << 32 | child);
        if (__builtin_add_overflow(count, diagram.counts_[child], &count) || count >> 63 != 0) return std::nullopt;
      }
      if (count == 0) continue;
      std::uint32_t& slot = table.slot(hash, [&](std::uint32_t other) {
        const auto begin = diagram.edges_.begin() + static_cast<std::ptrdiff_t>(diagram.first_edges_[other]);
        const auto end = diagram.edges_.begin() + static_cast<std::ptrdiff_t>(diagram.first_edges_[other + 1]);
        return std::equal(begin, end, diagram.edges_.begin() + static_cast<std::ptrdiff_t>(first), diagram.edges_.end(),
                          [](const Edge& a, const Edge& b) { return a.value == b.value && a.child == b.child; });
      });
      if (slot == dead) {
        slot = static_cast<std::uint32_t>(diagram.counts_.size());
        diagram.counts_.push_back(count);
        diagram.first_edges_.push_back(diagram.edges_.size());
      } else {
        diagram.edges_.resize(first);
      }
      numbers[node] = slot;
    }
    below = std::move(numbers);
  }
  if (below.front() == dead) return Diagram();
  diagram.root_ = below.front();
  diagram.counts_.shrink_to_fit();
  diagram.first_edges_.shrink_to_fit();
  diagram.edges_.shrink_to_fit();
  return diagram;
}

Diagram Diagram::of_rows(const std::vector<std::vector<std::uint32_t>>& rows, std::size_t length) {
  if (rows.empty()) return {};
  std::vector<DiagramLayer> layers(length);
  std::vector<std::size_t> starts{0, rows.size()};  // of the rows that share the prefix so far
  for (std::size_t depth = 0; depth < length; ++depth) {
    DiagramLayer& layer = layers[depth];
    std::vector<std::size_t> next;
    for (std::size_t node = 0; node + 1 < starts.size(); ++node) {
      for (std::size_t row = starts[node]; row < starts[node + 1]; ++row)
        if (row == starts[node] || rows[row][depth] != rows[row - 1][depth]) {
          layer.edges.push_back({rows[row][depth], depth + 1 == length ? 0 : static_cast<std::uint32_t>(next.size())});
          next.push_back(row);
        }
      layer.first_edges.push_back(layer.edges.size());
    }
    next.push_back(rows.size());
    starts = std::move(next);
  }
  return reduce(std::move(layers)).value_or(Diagram());
}

const Diagram::Edge* Diagram::find(std::uint32_t node, std::uint32_t value) const noexcept {
  const Edge* const begin = edges_.data() + first_edges_[node];
  const Edge* const end = edges_.data() + first_edges_[node + 1];
  const Edge* const found =
      std::lower_bound(begin, end, value, [](const Edge& edge, std::uint32_t wanted) { return edge.value < wanted; });
  return found != end && found->value == value ? found : nullptr;
}

const Diagram::Edge& Diagram::at(std::uint32_t node, std::uint64_t position) const noexcept {
  const Edge* const begin = edges_.data() + first_edges_[node];
  const Edge* const end = edges_.data() + first_edges_[node + 1];
  return *(std::upper_bound(begin, end, position,
                            [](std::uint64_t wanted, const Edge& edge) { return wanted < edge.before; }) -
           1);
}

std::size_t Diagram::bytes() const noexcept {
  return counts_.capacity() * sizeof(counts_[0]) + first_edges_.capacity() * sizeof(first_edges_[0]) +
         edges_.capacity() * sizeof(Edge);
}

}  // namespace xtune::space
