// The margins of the race.
//
// A challenger needs few launches to show that it is slower than the incumbent by a factor, and many to show that it is
// slower by a percent; most configurations of a space are slower by a factor. The decision uses the challenger's
// fastest launch: interruptions, cold caches and low clocks make a launch slower, hardly ever faster, so the minimum is
// the statistic that noise affects least. It is compared with the incumbent's third quartile rather than its median,
// which favours the challenger.
//
// With few launches, even the minimum may be affected by noise. The margin therefore shrinks with the number of
// launches and grows with the roughness of the device: the share by which one launch in forty (2.5 %) exceeds the
// median of its series. For the first 64 launches the roughness counts as 0.5, so that the first decisions are careful.
//
// On simulated devices with spikes, bursts and 5 % spread these margins lose a configuration that is 0.5 % faster than
// the incumbent in fewer than two races of a thousand (tests/unit/measure/race_test.cpp). A time is final only after
// the finals, which measure the remaining configurations side by side.
#include "core/measure/race.hpp"

#include <utility>

namespace xtune::measure {

namespace {

constexpr std::size_t remembered = 1024, enough = 64;
constexpr double unknown_roughness = 0.5;
constexpr double long_ms = 1;

struct Margin {
  std::size_t launches;
  double least;      ///< relative to the third quartile
  double roughness;  ///< multiple of the device's roughness
};
constexpr Margin margins[] = {{10, 0.005, 0}, {5, 0.015, 1.2}, {3, 0.03, 1.3}, {2, 0.05, 1.5}};

double least(std::span<const double> samples_ms) { return *std::min_element(samples_ms.begin(), samples_ms.end()); }

}  // namespace

void Roughness::learn(std::span<const double> samples_ms, double median_ms) {
  if (!is_time(median_ms)) return;
  for (const double sample : samples_ms) {
    const double excess = std::max(sample / median_ms - 1, 0.0);
    if (excess_.size() < remembered)
      excess_.push_back(excess);
    else
      excess_[next_++ % remembered] = excess;
  }
}

double Roughness::value() const {
  if (excess_.size() < enough) return std::max(least_, unknown_roughness);
  std::vector<double> sorted = excess_;
  const auto at = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() * 39 / 40);
  std::nth_element(sorted.begin(), at, sorted.end());
  return std::max(least_, *at);
}

Race::Race(const std::optional<Incumbent>& incumbent, double roughness) : incumbent_(incumbent), roughness_(roughness) {
  if (incumbent_ && (!is_time(incumbent_->median_ms) || !is_time(incumbent_->q3_ms))) incumbent_.reset();
}

bool Race::lost(std::span<const double> samples_ms, double first_ms) const {
  if (!on() || samples_ms.empty()) return false;
  double fastest_ms = least(samples_ms);
  std::size_t launches = samples_ms.size();
  if (first_ms >= long_ms) {
    ++launches;
    fastest_ms = std::min(fastest_ms, first_ms);
  }
  for (const Margin& margin : margins)
    if (launches >= margin.launches)
      return fastest_ms > (1 + std::max(margin.least, margin.roughness * roughness_)) * incumbent_->q3_ms;
  return false;
}

bool still_lost(std::span<const double> samples_ms, const Incumbent& best) {
  return !samples_ms.empty() && still_lost(samples_ms.size(), least(samples_ms), best);
}

bool still_lost(std::size_t samples, double min_ms, const Incumbent& best) {
  if (samples == 0 || !is_time(best.median_ms)) return false;
  double margin = margins[std::size(margins) - 1].least;  // for a single sample: the launch before it lost, too
  for (const Margin& one : margins)
    if (samples >= one.launches) {
      margin = one.launches == 10 ? 0 : one.least;
      break;
    }
  return min_ms > (1 + margin / 2) * best.median_ms;
}

// The sampling loop over the stopping rule.

int Budget::launches_left(double launch_s) const {
  constexpr double margin = 1.1, max_launches = 1e6;  // the next launch may take a little longer
  const double left_s = limit_s_ - spare_s_ - spent_s() - reserved_s_;
  if (left_s <= 0) return 0;
  return static_cast<int>(launch_s > 0 ? std::min(left_s / (margin * launch_s), max_launches) : max_launches);
}

Series measure_series(const std::function<double()>& sample_ms, const StoppingRule& rule, const Budget& budget,
                      const Race& race, double first_ms, Series begun) {
  Series series = std::move(begun);
  for (;;) {
    if (!series.samples_ms.empty()) {
      series.stopped_by = should_stop(series.samples_ms, rule);
      if (series.stopped_by == Stop::go_on && budget.launches_left(series.last_s) < 1)
        series.stopped_by = Stop::out_of_time;
      if (series.stopped_by == Stop::go_on && race.lost(series.samples_ms, first_ms)) series.stopped_by = Stop::beaten;
      if (series.stopped_by != Stop::go_on) break;
    }
    const double start_s = budget.spent_s();
    series.samples_ms.push_back(sample_ms());
    series.last_s = budget.spent_s() - start_s;
  }
  series.summary = summarize(series.samples_ms);
  return series;
}

Series measure_challenger(const Launching& launching, const StoppingRule& rule, const Budget& budget,
                          const std::optional<Incumbent>& incumbent, Roughness& roughness) {
  constexpr int max_cold = 3;
  const Race race(incumbent, roughness.value());
  // The warm-up may launch once more, to find out how many launches a sample needs.
  const auto is_short = [&](double launch_s) {
    return budget.launches_left(launch_s) < launching.warmup + 1 + rule.min_rep;
  };
  Series cold;
  // The first launch may have loaded code, so a sample shows whether time is short.
  if (race.on() || is_short(launching.first_s)) {
    StoppingRule heat;
    heat.min_rep = heat.rep = race.on() ? max_cold : 1;
    cold = measure_series(launching.sample_ms, heat, budget, race, launching.first_ms);
    // The last sample is complete before the race is checked.
    if (race.lost(cold.samples_ms, launching.first_ms)) {
      cold.stopped_by = Stop::beaten;
      return cold;
    }
  }
  std::vector<double> cold_ms = cold.samples_ms;
  if (cold_ms.empty() || !is_short(cold.last_s)) {
    launching.warm_up(std::max(launching.warmup - static_cast<int>(cold_ms.size()), 0));
    cold = {};
  }
  Series series = measure_series(launching.sample_ms, rule, budget, race, launching.first_ms, std::exchange(cold, {}));
  roughness.learn(cold_ms, series.summary.median);
  roughness.learn(series.samples_ms, series.summary.median);
  return series;
}

}  // namespace xtune::measure
