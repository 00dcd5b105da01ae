// The loop of propose and observe over recorded outcomes.
#include "core/replay/trial.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>

namespace xtune::replay {

std::vector<TrialStep> run_trial(const Recording& recording, search::Strategy& strategy, const TrialLimits& limits) {
  std::vector<bool> tried(recording.space.size());
  std::vector<TrialStep> steps;
  TrialStep now{std::numeric_limits<double>::infinity(), 0};
  while (steps.size() < limits.evals && (limits.seconds == 0 || now.seconds < limits.seconds)) {
    const std::vector<std::uint64_t> proposals = strategy.propose(1);
    if (proposals.empty()) break;
    const std::uint64_t index = proposals.front();
    if (proposals.size() > 1 || index >= tried.size() || tried[index])
      throw std::logic_error("a strategy proposed more than it was asked for, or a configuration of no space or twice");
    tried[index] = true;
    const RecordedConfig& config = recording.configs[index];
    if (config.outcome == Outcome::ok) now.best_ms = std::min(now.best_ms, config.time_ms);
    now.seconds += config.seconds();
    steps.push_back(now);
    strategy.observe({index, config.outcome, config.time_ms});
  }
  return steps;
}

}  // namespace xtune::replay
