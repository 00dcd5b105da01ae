// The sampling loop over the stopping rule.
#include "core/measure/series.hpp"

#include <algorithm>
#include <utility>

namespace xtune::measure {

Series measure_series(const std::function<double()>& sample_ms, const StoppingRule& rule, base::Clock& clock,
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

Series measure_challenger(const Launching& launching, const StoppingRule& rule, base::Clock& clock,
                          const std::optional<Incumbent>& incumbent, Roughness& roughness) {
  constexpr int max_cold = 3;
  const Race race(incumbent, roughness.value());
  std::vector<double> cold_ms;
  if (race.on()) {
    StoppingRule heat;
    heat.min_rep = heat.rep = max_cold;
    heat.max_wall_s = rule.max_wall_s;
    Series cold = measure_series(launching.sample_ms, heat, clock, race, launching.first_ms);
    // The last sample is complete before the race is checked.
    if (race.lost(cold.samples_ms, launching.first_ms)) {
      cold.stopped_by = Stop::beaten;
      return cold;
    }
    cold_ms = std::move(cold.samples_ms);
  }
  launching.warm_up(std::max(launching.warmup - static_cast<int>(cold_ms.size()), 0));
  Series series = measure_series(launching.sample_ms, rule, clock, race, launching.first_ms);
  roughness.learn(cold_ms, series.summary.median);
  roughness.learn(series.samples_ms, series.summary.median);
  return series;
}

}  // namespace xtune::measure
