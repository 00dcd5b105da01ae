// Scores of strategies on recorded spaces: trials, the quality that they reach, and the aggregate score of the
// literature.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lab/recording.hpp"

namespace xtune::lab {

/// The state after each evaluation, in order. A failed configuration is an evaluation too.
struct TrialStep {
  double best_ms = 0;  ///< best time so far; infinite before the first ok configuration
  double seconds = 0;  ///< cost of the evaluations so far: compiling, measuring, overhead
};

struct TrialLimits {
  std::uint64_t evals = 0;
  double seconds = 0;  ///< recorded time: the evaluation that exceeds it is the last; 0: no limit
};

/// Asks the strategy for one configuration at a time and answers from the recording. Ends at a limit, or when the
/// strategy proposes nothing more. Throws std::logic_error if the strategy breaks its contract (an index beyond the
/// space, a repeated proposal).
std::vector<TrialStep> run_trial(const Recording& recording, search::Strategy& strategy, const TrialLimits& limits);

/// Source: F.-J. Willemsen, R. Schoonhoven, J. Filipovic, J. O. Toerring, R. van Nieuwpoort, B. van Werkhoven, "A
/// methodology for comparing optimization algorithms for auto-tuning", Future Generation Computer Systems 159 (2024).
/// Uses only the valid configurations: N of them, D their times from worst to best, optimum f*, median f_med.
///   budget    f_cut = f* + (f_med - f*)(1 - p); i = first index with D[i] <= f_cut; m = ceil(i / (N + 1 - i)), at
///   least
///             1; the time is m times the median time that a configuration costs. From p = .01 to p = .95, 1,000
///             points.
///   baseline  R(t): k = max(1, round(t / tbar)) evaluations reach D[min(N - 1, round(k (N + 1) / (k + 1)))], with tbar
///   =
///             mean cost of valid ones + part of invalid ones * their mean cost; between the k that occur, a monotone
///             cubic (Fritsch and Carlson 1980) over time.
///   strategy  F(t): isotonic regression of the index in D of the best so far, pooled over repeats; flat after the
///             median of the repeats' ends.
///   score     P(t) = (F - R) / (f* - R), averaged over the points: 1 is the optimum at once, 0 is random search.
class AggregateProblem {
 public:
  static constexpr std::size_t points = 1000;

  /// nullopt: the score is undefined, because there are fewer than 3 valid configurations, all are equally fast, or the
  /// recording has no costs.
  static std::optional<AggregateProblem> of(const Recording& recording);

  double end_s() const noexcept { return grid_.back(); }   ///< the budget: later steps of trials are ignored
  std::uint64_t evals() const noexcept { return evals_; }  ///< number that fits into it, at the mean cost
  const std::vector<double>& grid_s() const noexcept { return grid_; }
  const std::vector<double>& baseline_ms() const noexcept { return baseline_; }  ///< R, at the grid's points

  /// F at the grid's points; empty: no repeat found a valid configuration.
  std::vector<double> curve_ms(const std::vector<std::vector<TrialStep>>& repeats) const;
  /// Mean of P over the grid; nullopt if curve_ms is empty.
  std::optional<double> score(const std::vector<std::vector<TrialStep>>& repeats) const;

 private:
  std::vector<double> worst_to_best_;
  std::vector<double> grid_, baseline_;
  std::uint64_t evals_ = 0;
};

/// The non-decreasing sequence nearest to y in least squares with equal weights (pool adjacent violators).
std::vector<double> isotonic(std::vector<double> y);

/// The value at `at` of the monotone piecewise cubic through (x, y), x strictly ascending; constant beyond the ends.
double monotone_cubic(const std::vector<double>& x, const std::vector<double>& y, double at);

struct ScoreOptions {
  std::vector<std::string> strategies;
  std::vector<std::uint64_t> evals{25, 50, 100, 200, 400};  ///< ascending, at least 1
  std::size_t repeats = 30;
  std::uint64_t seed = 1;
  bool aggregate = true;                         ///< also the aggregate score (aggregate.hpp), whose trials may be long
  bool transfer = false;                         ///< each recording is guided by the others of its kernel
  std::function<void(const std::string&)> note;  ///< receives notes on omitted sources, one line each; may be empty
  std::size_t threads = 1;
  double (*thread_cpu_s)() = nullptr;  ///< CPU time of the calling thread, for ms_per_proposal
};

/// The score of one strategy on one recording.
struct SpaceScore {
  std::vector<double> found;  ///< for each of evals: mean over repeats of optimum / best found, 0 before any ok one
  std::optional<double> aggregate;  ///< P; unset if the recording does not determine it, or nothing was found
};

struct StrategyScore {
  std::string strategy;
  std::vector<SpaceScore> spaces;  ///< in the order of the recordings
  std::vector<double> mean;        ///< of found, over spaces
  std::optional<double> aggregate;
  double ms_per_proposal = 0;  ///< CPU time of the strategy, in the trials behind `found`
};

/// The repeats run on `threads` threads; the result does not depend on their number. The seed of each repeat on each
/// recording depends on its number and the recording's name: it is the same for all strategies. The budget for a
/// strategy is the maximum of evals, for the aggregate score that of the recording. Throws Error(invalid_argument) for
/// an unknown strategy or an empty list, Error(nothing_valid) for a recording without an ok configuration.
std::vector<StrategyScore> score_strategies(const std::vector<Recording>& recordings, const ScoreOptions& options);

/// The exact expected result of uniform random search without repetition: the expectation of optimum / best found after
/// each of evals, by the hypergeometric distribution of the best rank drawn.
std::vector<double> random_expectation(const Recording& recording, const std::vector<std::uint64_t>& evals);

}  // namespace xtune::lab
