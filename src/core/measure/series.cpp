// The sampling loop over the stopping rule.
#include "core/measure/series.hpp"

namespace xtune {

Series measure_series(const std::function<double()>& sample_ms, const StoppingRule& rule, Clock& clock) {
  Series series;
  const std::int64_t start_ns = clock.now_ns();
  for (;;) {
    series.samples_ms.push_back(sample_ms());
    series.wall_s = static_cast<double>(clock.now_ns() - start_ns) * 1e-9;
    series.stopped_by = should_stop(series.samples_ms, rule);
    if (series.stopped_by == Stop::go_on && series.wall_s >= rule.max_wall_s) series.stopped_by = Stop::out_of_time;
    if (series.stopped_by != Stop::go_on) break;
  }
  series.summary = summarize(series.samples_ms);
  return series;
}

}  // namespace xtune
