// A regression forest of extremely randomised trees.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/random.hpp"

namespace xtune::search {

struct ForestOptions {
  std::size_t trees = 30;
  std::size_t min_leaf = 2;  ///< minimum number of targets in a leaf
  std::size_t tries = 10;    ///< random splits compared at a node
};

/// Splits at random places of random features and keeps the best of a few (Geurts, Ernst and Wehenkel, "Extremely
/// randomized trees", 2006). Every tree learns from all points; the variance between the trees measures the
/// uncertainty.
class ExtraTrees {
 public:
  /// points: targets.size() rows of `features` values.
  void fit(std::span<const float> points, std::span<const float> targets, std::size_t features,
           const ForestOptions& options, base::Random& random);
  /// Mean and variance over the trees for one point.
  struct Prediction {
    float mean = 0, variance = 0;
  };
  Prediction predict(const float* point) const;

  bool grown() const noexcept { return !roots_.empty(); }

 private:
  struct Node {
    std::uint32_t feature = 0;
    std::uint32_t right = 0;  // 0: a leaf; the left child follows its parent
    float value = 0;          // the threshold, or the leaf's mean
  };
  void grow(std::span<std::uint32_t> rows, std::span<const float> points, std::span<const float> targets,
            const ForestOptions& options, base::Random& random);

  std::size_t features_ = 0;
  std::vector<Node> nodes_;
  std::vector<std::uint32_t> roots_;
};

}  // namespace xtune::search
