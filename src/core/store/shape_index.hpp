// Finds problems by their sizes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/space/value.hpp"

namespace xtune::store {

/// The same problem is found by a hash, the nearest ones by a scan over the logarithms of all sizes, which takes a few
/// nanoseconds a problem. Problems have numbers from 0.
class ShapeIndex {
 public:
  explicit ShapeIndex(const std::vector<const Bindings*>& problems);

  /// The problems with the minimum shape_distance to this one, up to rounding, and perhaps others: only
  /// shape_distance itself decides. Empty: all problems are of another kind.
  std::vector<std::uint32_t> nearest(const Bindings& problem) const;

  /// The problems that shape_distance compares with this one.
  struct Comparable {
    std::vector<std::uint32_t> near;  ///< at least `count` of them, if there are as many: no other one is nearer
    std::vector<std::uint32_t> far;
  };
  Comparable comparable(const Bindings& problem, std::size_t count) const;

 private:
  /// Problems with the same names, and the same values for those that are not positive numbers.
  struct Kind {
    std::vector<std::uint32_t> problems;
    std::vector<double> logs;  ///< of the sizes of each
  };

  std::unordered_map<std::string, Kind> kinds_;
  std::unordered_map<std::string, std::vector<std::uint32_t>> same_;  ///< by kind and sizes
};

}  // namespace xtune::store
