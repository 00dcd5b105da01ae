// The fewest configurations that serve many problems nearly as well as each problem's own best.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace xtune::dispatch {

struct Cover {
  std::vector<std::size_t> configs;  ///< ascending
  /// Of each case: the one of `configs` that serves it best; nullopt: none was measured for it.
  std::vector<std::optional<std::size_t>> served_by;
  std::vector<double> ratio;  ///< of its time there to the case's best; infinite where none was measured
  std::size_t within = 0;     ///< cases that are served within the limit
  /// No smaller set serves all cases. false: found greedily, or not all of them are served.
  bool smallest = false;
  bool too_many = false;  ///< proved: not all can be served by so few
};

/// ratios[case][config]: the configuration's time to the case's best one, infinity where it was not measured. limit:
/// 1.05 for five percent. Among sets of one size that with the least product of ratios. Searches exhaustively as far as
/// `steps` go, then greedily. Where `most` do not suffice it serves as many cases as it can find.
Cover smallest_cover(const std::vector<std::vector<double>>& ratios, double limit, std::size_t most,
                     std::size_t steps = 2'000'000);

}  // namespace xtune::dispatch
