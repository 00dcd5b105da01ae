// One strategy's search of a recording.
#pragma once

#include <cstdint>
#include <vector>

#include "core/replay/recording.hpp"

namespace xtune::replay {

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

}  // namespace xtune::replay
