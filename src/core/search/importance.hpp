// Which parameters, and which pairs of them, determine a kernel's time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/space/space.hpp"

namespace xtune::search {

struct ParameterImportance {
  std::size_t parameter = 0;  ///< number in the space
  double share = 0;           ///< fraction of the variance of the logarithm of the time
};

struct PairImportance {
  std::size_t first = 0, second = 0;
  double share = 0;  ///< fraction that both explain together, beyond the fraction of each by itself
};

struct Importance {
  std::vector<ParameterImportance> parameters;  ///< largest first; parameters with more than one value
  std::vector<PairImportance> pairs;            ///< largest first; pairs of the six most important parameters
  bool empty() const noexcept { return parameters.empty(); }
};

/// A measured configuration of the space.
struct MeasuredIndex {
  std::uint64_t index = 0;
  double time = 0;  ///< > 0, in any unit
};

/// Fits a regression forest (extra_trees.hpp) to the logarithms of the times and splits its variance (functional ANOVA:
/// Hutter, Hoos and Leyton-Brown, "An efficient approach for assessing hyperparameter importance", 2014). Each
/// parameter's values are weighted by their frequency among the measured configurations, independently of the other
/// parameters. Deterministic. Empty: fewer than eight measurements, or no difference between them.
Importance importance_of(const space::Space& space, std::span<const MeasuredIndex> measured);

}  // namespace xtune::search
