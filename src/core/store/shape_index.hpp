// Finds problems by their sizes: the same one by a hash, the nearest ones by a k-d tree over logarithms.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "core/space/value.hpp"

namespace xtune {

/// Knows problems by their place in a list. Immutable once made.
class ShapeIndex {
 public:
  explicit ShapeIndex(const std::vector<const Bindings*>& problems);

  /// Those that may have a shape_distance of 0 to this problem: all that do, and rarely another; in the list's order.
  const std::vector<std::uint32_t>& same(const Bindings& problem) const;
  /// Those whose shape_distance to this problem is the least, but for rounding; in the list's order. Empty: every one
  /// is of another kind.
  std::vector<std::uint32_t> nearest(const Bindings& problem) const;

 private:
  /// Problems of the same names, and of the same values where these are no positive numbers. A balanced tree: the
  /// middle of a range is its root, what lies before and after are its branches.
  struct Kind {
    std::size_t dimensions = 0;
    std::vector<std::uint32_t> problems;
    std::vector<double> logs;         ///< log2 of the sizes of problems[i], from i * dimensions on
    std::vector<std::uint32_t> axes;  ///< that problems[i] cuts its range by
  };
  struct Search;
  static void build(Kind& kind, std::vector<std::uint32_t>& order, std::size_t begin, std::size_t end);
  static void search(const Kind& kind, std::size_t begin, std::size_t end, Search& state);

  std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> by_sizes_;
  std::unordered_map<std::uint64_t, Kind> kinds_;
};

}  // namespace xtune
