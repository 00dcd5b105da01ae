// The smallest set of configurations that serves many problems nearly as well as each problem's own best.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace xtune::store {

struct Cover {
  std::vector<std::size_t> configs;  ///< ascending
  /// For each case: the one of `configs` that serves it best; nullopt: none was measured for it.
  std::vector<std::optional<std::size_t>> served_by;
  std::vector<double> ratio;  ///< time there divided by that of the case's best; infinite if none was measured
  std::size_t within = 0;     ///< cases that are served within the limit
  /// No smaller set serves all cases. false: found greedily, or not all of them are served.
  bool smallest = false;
  bool too_many = false;  ///< proved: this many cannot serve all cases
};

/// Which configurations are taken if there are too few for all cases.
enum class Preference {
  served,   ///< those that serve the most cases within the limit
  measured  ///< those that leave the fewest cases without a measurement; of these, those that serve the most
};

/// ratios[case][config]: the configuration's time divided by the case's best one, infinity if it was not measured.
/// limit: 1.05 for five percent. Among sets of one size, the one with the smallest product of ratios is chosen.
/// Searches exhaustively for up to `steps` steps, then greedily. If `most` configurations are not enough, the
/// preference decides what the greedy search looks for.
Cover smallest_cover(const std::vector<std::vector<double>>& ratios, double limit, std::size_t most,
                     Preference preference = Preference::served, std::size_t steps = 2'000'000);

}  // namespace xtune::store
