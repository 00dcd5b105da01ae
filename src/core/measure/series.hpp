// One configuration's series of samples: take one, look, take the next or stop.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "base/clock.hpp"
#include "core/measure/race.hpp"
#include "core/measure/statistics.hpp"

namespace xtune {

struct Series {
  std::vector<double> samples_ms;  ///< in the order taken
  Summary summary;                 ///< of samples_ms
  double wall_s = 0;               ///< of the series on the clock, flushing and launching included
  Stop stopped_by = Stop::enough;
};

/// Calls sample_ms until the rule says stop, or max_wall_s has passed on the clock (checked after each sample, so there
/// is at least one, and the series overruns by one sample at most; stopped_by is then out_of_time), or the race is lost
/// (beaten). first_ms: the launch before, for the race. Exceptions of sample_ms pass through.
Series measure_series(const std::function<double()>& sample_ms, const StoppingRule& rule, Clock& clock,
                      const Race& race = {}, double first_ms = 0);

/// What a challenger whose first launch was far slower than the incumbent needs no warm-up for: the series of a race
/// that it loses within three samples. nullopt: its first launch was not that slow, or it did not lose; then its series
/// begins anew, warmed up.
std::optional<Series> lose_cold(const std::function<double()>& sample_ms, const StoppingRule& rule, Clock& clock,
                                const Race& race, double first_ms);

}  // namespace xtune
