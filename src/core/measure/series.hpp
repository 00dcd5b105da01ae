// One configuration's series of samples: take a sample, then decide whether to take another one.
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
  double wall_s = 0;               ///< wall-clock time of the series, with flushing and launching
  Stop stopped_by = Stop::enough;
};

/// Calls sample_ms until the rule ends the series, max_wall_s has passed on the clock, or the race is lost (beaten).
/// The clock is checked after each sample, so there is at least one, and the series may exceed the limit by up to one
/// sample; stopped_by is then out_of_time. first_ms: the launch before the samples, for the race. Exceptions of
/// sample_ms pass through.
Series measure_series(const std::function<double()>& sample_ms, const StoppingRule& rule, base::Clock& clock,
                      const Race& race = {}, double first_ms = 0);

/// How a configuration is launched.
struct Launching {
  std::function<double()> sample_ms;
  std::function<void(int)> warm_up;  ///< launches this many times; called once, before a whole series
  int warmup = 0;                    ///< number of launches before a whole series
  double first_ms = 0;               ///< of the first launch; 0: not timed
};

/// The series of a challenger. If it loses within three samples, there is no warm-up. Otherwise those samples count as
/// warm-up launches, its series starts from scratch, and the device's roughness is learned from all of them. Without an
/// incumbent there is no race.
Series measure_challenger(const Launching& launching, const StoppingRule& rule, base::Clock& clock,
                          const std::optional<Incumbent>& incumbent, Roughness& roughness);

}  // namespace xtune::measure
