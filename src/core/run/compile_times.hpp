// How long configurations take to compile, learned from those that were compiled.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/search/features.hpp"

namespace xtune::run {

/// Ridge regression of the logarithm of CPU seconds on the configuration's features (`Features::plain`): unrolled code
/// grows by factors. It need not be exact: a pool of compilers that takes the longest of its queue first ends with
/// short jobs, so that they all end at about the same time (R. L. Graham, "Bounds on Multiprocessing Timing Anomalies",
/// SIAM J. Appl. Math. 17 (1969)).
class CompileTimes {
 public:
  /// Minimum number of compiled configurations for a prediction.
  static constexpr std::size_t min_examples = 30;

  explicit CompileTimes(const space::Space& space) : features_(space) {}

  /// One value index for each parameter. Ignores seconds that are not positive.
  void learn(std::span<const std::uint32_t> value_indices, double cpu_s);
  /// CPU seconds; nullopt: there are too few examples, or the space has too many features to learn during the run.
  std::optional<double> expected_s(std::span<const std::uint32_t> value_indices);

 private:
  void fit();

  search::Features features_;
  std::size_t examples_ = 0, fitted_ = 0;
  // Normal equations; the last column is the constant.
  std::vector<double> products_, right_, weights_;
};

}  // namespace xtune::run
