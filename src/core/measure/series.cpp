// The sampling loop over the stopping rule.
#include "core/measure/series.hpp"

namespace xtune {

Series measure_series(const std::function<double()>& sample_ms, const StoppingRule& rule, Clock& clock,
                      const Race& race, double first_ms) {
  Series series;
  const std::int64_t start_ns = clock.now_ns();
  for (;;) {
    series.samples_ms.push_back(sample_ms());
    series.wall_s = static_cast<double>(clock.now_ns() - start_ns) * 1e-9;
    series.stopped_by = should_stop(series.samples_ms, rule);
    if (series.stopped_by == Stop::go_on && series.wall_s >= rule.max_wall_s) series.stopped_by = Stop::out_of_time;
    if (series.stopped_by == Stop::go_on && race.lost(series.samples_ms, first_ms)) series.stopped_by = Stop::beaten;
    if (series.stopped_by != Stop::go_on) break;
  }
  series.summary = summarize(series.samples_ms);
  return series;
}

std::optional<Series> lose_cold(const std::function<double()>& sample_ms, const StoppingRule& rule, Clock& clock,
                                const Race& race, double first_ms) {
  if (!race.far_slower(first_ms)) return std::nullopt;
  StoppingRule heat = rule;
  heat.rep = 3;
  heat.min_rep = 3;
  Series series = measure_series(sample_ms, heat, clock, race, first_ms);
  // The third sample ends the heat before the race is looked at.
  if (race.lost(series.samples_ms, first_ms)) series.stopped_by = Stop::beaten;
  if (series.stopped_by != Stop::beaten) return std::nullopt;
  return series;
}

}  // namespace xtune
