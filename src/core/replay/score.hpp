// Scoring strategies on recorded spaces.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/replay/recording.hpp"

namespace xtune::replay {

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

}  // namespace xtune::replay
