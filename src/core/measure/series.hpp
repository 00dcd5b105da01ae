// One configuration's series of samples: take one, look, take the next or stop.
#pragma once

#include <functional>
#include <vector>

#include "base/clock.hpp"
#include "core/measure/statistics.hpp"

namespace xtune {

struct Series {
  std::vector<double> samples_ms;  ///< in the order taken
  Summary summary;                 ///< of samples_ms
  double wall_s = 0;               ///< of the series on the clock, flushing and launching included
  Stop stopped_by = Stop::enough;
};

/// Calls sample_ms until the rule says stop, or max_wall_s has passed on the clock (checked after each sample, so there
/// is at least one, and the series overruns by one sample at most; stopped_by is then out_of_time). Exceptions of
/// sample_ms pass through.
Series measure_series(const std::function<double()>& sample_ms, const StoppingRule& rule, Clock& clock);

}  // namespace xtune
