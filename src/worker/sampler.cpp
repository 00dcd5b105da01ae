// One launch or many, with one set of buffers or several.
#include "worker/sampler.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "core/measure/device.hpp"
#include "core/measure/statistics.hpp"

namespace xtune::worker {
namespace {
// A process that is suspended during each of them still gets a time.
constexpr int suspended_retakes = 10;
// The time of an event has steps of about ten nanoseconds and varies by a hundred: the mean of several spans is more
// precise.
constexpr double apart_target_ms = 0.04;
constexpr double max_ratio = 8;
}  // namespace

Sampler::Sampler(measure::Program& program, Plan plan) : program_(program), plan_(std::move(plan)) {}

void Sampler::warm_up(int launches) {
  const bool itself = program_.times_itself();
  const bool together = plan_.flush_bytes == 0 && !plan_.restore && !itself;
  const bool timed_last = !together && !itself && spent_ms_ == 0;  // determines the time of a launch, if it is unknown
  for (int i = 0; i < launches; ++i) {
    const measure::Sample sample = take(1, timed_last && i + 1 == launches);
    if (timed_last) spent_ms_ = sample.time_ms;
  }
  if (together)
    launches_ = measure::launches_per_span(take(1, true).time_ms);
  else if (spent_ms_ > 0 && !itself)
    spans_ = static_cast<int>(std::clamp(std::ceil(apart_target_ms / spent_ms_), 1.0, max_ratio));
}

double Sampler::sample_ms() {
  double sum_ms = 0;
  for (int span = 0; span < spans_; ++span) {
    const measure::Sample sample = measure::punctual_sample([this] { return take_awake(); });
    overhead_ms_ = sample.overhead_ms;
    if (sample.clock_mhz > 0) clocks_mhz_.push_back(sample.clock_mhz);
    reported_.resize(std::max(reported_.size(), sample.reported.size()));
    for (std::size_t i = 0; i < sample.reported.size(); ++i) reported_[i].push_back(sample.reported[i]);
    sum_ms += sample.time_ms;
  }
  spent_ms_ = sum_ms / spans_;
  return spent_ms_;
}

/// A timed span during which the clock ran and the process did not has no meaning.
measure::Sample Sampler::take_awake() {
  for (int left = suspended_retakes;; --left) {
    const std::uint64_t before = plan_.suspensions();
    measure::Sample sample = take(launches_, true);
    if (plan_.suspensions() == before || left == 0) return sample;
  }
}

void Sampler::run_on(int launches) {
  if (!plan_.restore) {
    take(launches, false);
    return;
  }
  for (int i = 0; i < launches; ++i) take(1, false);
}

measure::Sample Sampler::take(int launches, bool timed) {
  std::vector<std::span<const measure::KernelArgument>> turns;
  for (int i = 0; i < launches; ++i) {
    const std::size_t set = next_++ % plan_.sets.size();
    if (plan_.restore) plan_.restore(set);
    turns.emplace_back(plan_.sets[set]);
  }
  measure::RunOptions options{turns.front(), timed, timed ? plan_.flush_bytes : 0};
  options.more = std::span(turns).subspan(1);
  options.graph = plan_.graph;
  return program_.run(options);
}

measure::Telemetry Sampler::telemetry() const {
  measure::Telemetry telemetry;
  telemetry.clock_mhz = measure::summarize(clocks_mhz_).median;
  telemetry.overhead_ms = overhead_ms_;
  telemetry.launches = launches_ * spans_;
  return telemetry;
}

}  // namespace xtune::worker
