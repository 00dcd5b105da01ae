// The compile jobs of a run that are in progress, and how long the next ones will take.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/run/run_context.hpp"
#include "core/run/services.hpp"
#include "core/search/features.hpp"

namespace xtune::run {

struct RunParts;

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

/// Configurations that differ only in launch parameters share an artifact, which is compiled once for all that wait for
/// it. If the order of the jobs changes only the time at which the compilers end, jobs that are expected to take
/// longest start first (CompileTimes).
class CompileQueue {
 public:
  /// longest_first: whether jobs are ordered.
  CompileQueue(RunParts& run, bool longest_first);

  /// The first one starts the problem's own compile jobs, too.
  void start(const TrialPtr& trial);
  std::size_t trials() const noexcept { return trials_; }  ///< in progress; several may wait for one artifact
  bool longest_first() const noexcept { return longest_first_; }
  /// Cancels all jobs of the compilers, including those of other callers.
  void cancel_all();

 private:
  void finish(const std::string& key, const CompileAnswer& answer);
  RunParts& run_;
  const bool longest_first_;
  std::unordered_map<std::string, std::vector<TrialPtr>> waiting_;  ///< by the artifact's key
  std::size_t trials_ = 0;
  CompileTimes times_;
  std::optional<std::int64_t> first_start_ns_;
  bool warned_of_cache_ = false;
};

}  // namespace xtune::run
