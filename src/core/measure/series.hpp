// One configuration's series of samples: take one, look, take the next or stop.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "base/clock.hpp"
#include "core/measure/race.hpp"
#include "core/measure/statistics.hpp"

namespace xtune::measure {

struct Series {
  std::vector<double> samples_ms;  ///< in the order taken
  Summary summary;                 ///< of samples_ms
  double wall_s = 0;               ///< of the series on the clock, flushing and launching included
  Stop stopped_by = Stop::enough;
};

/// Calls sample_ms until the rule says stop, or max_wall_s has passed on the clock (checked after each sample, so there
/// is at least one, and the series overruns by one sample at most; stopped_by is then out_of_time), or the race is lost
/// (beaten). first_ms: the launch before, for the race. Exceptions of sample_ms pass through.
Series measure_series(const std::function<double()>& sample_ms, const StoppingRule& rule, base::Clock& clock,
                      const Race& race = {}, double first_ms = 0);

/// How a configuration is launched.
struct Launching {
  std::function<double()> sample_ms;
  std::function<void(int)> warm_up;  ///< so many launches; called once, ahead of a whole series
  int warmup = 0;                    ///< launches ahead of a whole series
  double first_ms = 0;               ///< of the launch before all others; 0: not timed
};

/// The series of a challenger: what it loses within three samples, it loses without a warm-up. Where it has not lost by
/// then, those samples count as launches that warm it up, its series begins anew, and the device's roughness is learned
/// from all of them. Without an incumbent there is no race.
Series measure_challenger(const Launching& launching, const StoppingRule& rule, base::Clock& clock,
                          const std::optional<Incumbent>& incumbent, Roughness& roughness);

}  // namespace xtune::measure
