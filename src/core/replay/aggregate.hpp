// The aggregate score of a strategy on one recording: how much better than random search, over the time it takes.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/replay/recording.hpp"
#include "core/replay/trial.hpp"

namespace xtune::replay {

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

}  // namespace xtune::replay
