// What compiling a configuration is expected to take, and by how much that would delay the end of a search.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/search/features.hpp"

namespace xtune::search {

/// Ridge regression of the logarithm of CPU seconds on the configuration's features (`Features::plain`) and, if they
/// are few, their products: unrolled code grows by factors. It need not be exact: a pool of compilers that takes the
/// longest of its queue first ends with short jobs, so that they all end at about the same time (R. L. Graham, "Bounds
/// on Multiprocessing Timing Anomalies", SIAM J. Appl. Math. 17 (1969)).
class CompileTimes {
 public:
  /// Minimum number of compiled configurations for a prediction.
  static constexpr std::size_t min_examples = 10;

  explicit CompileTimes(const space::Space& space) : features_(space) {}

  /// One value index for each parameter. Ignores seconds that are not positive.
  void learn(std::span<const std::uint32_t> value_indices, double cpu_s);
  /// CPU seconds; nullopt: there are too few examples, or the space has too many features to learn during the run.
  /// cautious: more where the examples say less.
  std::optional<double> expected_s(std::span<const std::uint32_t> value_indices, bool cautious = false);

 private:
  void fit();

  Features features_;
  std::size_t examples_ = 0, fitted_ = 0;
  // Normal equations; the last column is the constant.
  std::vector<double> products_, right_, weights_, factor_;
};

/// A compile that takes longer than the other compilers need for the whole rest of a search leaves them idle at the
/// end. What such a configuration costs is not one evaluation, but as many as could be made meanwhile.
class CompileDelays {
 public:
  /// compilers: as StrategyOptions. space must outlive it.
  CompileDelays(const space::Space& space, std::size_t compilers)
      : space_(space), times_(space), compilers_(static_cast<double>(compilers)) {}

  void learn(std::uint64_t index, double compile_s);
  /// Before logarithm(): the number of proposals that are left, and those that have no result yet.
  void expect(std::uint64_t left, std::span<const std::uint64_t> outstanding);
  /// What to subtract from the logarithm of the expected improvement.
  double logarithm(std::uint64_t index);

 private:
  std::optional<double> expected_s(std::uint64_t index) { return times_.expected_s(space_.value_indices(index), true); }

  const space::Space& space_;
  CompileTimes times_;
  double compilers_, rest_s_ = 0;  ///< rest_s_: until the others have compiled the rest of the search
  double sum_s_ = 0, compiled_ = 0;
};

}  // namespace xtune::search
