// One strategy's search of a recording.
#pragma once

#include <cstdint>
#include <vector>

#include "core/replay/recording.hpp"

namespace xtune::replay {

/// After each evaluation, in order. A failed configuration is an evaluation too.
struct TrialStep {
  double best_ms = 0;  ///< best time so far; infinite before the first ok configuration
  double seconds = 0;  ///< what the evaluations so far cost: compiling, measuring, overhead
};

struct TrialLimits {
  std::uint64_t evals = 0;
  double seconds = 0;  ///< of recorded time: the evaluation that passes it is the last; 0: no limit
};

/// Asks for one configuration at a time and answers from the recording. Ends at a limit, or when the strategy proposes
/// nothing more. A strategy that breaks its contract (an index beyond the space, one proposed before) throws
/// std::logic_error.
std::vector<TrialStep> run_trial(const Recording& recording, search::Strategy& strategy, const TrialLimits& limits);

}  // namespace xtune::replay
