// One launch or many, over one set of buffers or many.
#include "core/run/sampler.hpp"

#include <span>
#include <utility>

#include "core/measure/statistics.hpp"

namespace xtune {

namespace {
constexpr int late_retakes = 2;
}

Sampler::Sampler(Program& program, Plan plan) : program_(program), plan_(std::move(plan)) {}

void Sampler::warm_up(int launches) {
  for (int i = 0; i < launches; ++i) take(1, false);
  if (plan_.flush_bytes == 0 && !plan_.restore) launches_ = launches_per_span(take(1, true).time_ms);
}

double Sampler::sample_ms() {
  Sample sample = take(launches_, true);
  for (int i = 0; sample.late && i < late_retakes; ++i) sample = take(launches_, true);
  overhead_ms_ = sample.overhead_ms;
  if (sample.clock_mhz > 0) clocks_mhz_.push_back(sample.clock_mhz);
  return sample.time_ms;
}

void Sampler::run_on(int launches) {
  if (!plan_.restore) {
    take(launches, false);
    return;
  }
  for (int i = 0; i < launches; ++i) take(1, false);
}

Sample Sampler::take(int launches, bool timed) {
  std::vector<std::span<const KernelArgument>> turns;
  for (int i = 0; i < launches; ++i) {
    const std::size_t set = next_++ % plan_.sets.size();
    if (plan_.restore) plan_.restore(set);
    turns.emplace_back(plan_.sets[set]);
  }
  RunOptions options{turns.front(), timed, timed ? plan_.flush_bytes : 0};
  options.more = std::span(turns).subspan(1);
  return program_.run(options);
}

Telemetry Sampler::telemetry() const {
  Telemetry telemetry;
  telemetry.clock_mhz = summarize(clocks_mhz_).median;
  telemetry.overhead_ms = overhead_ms_;
  telemetry.launches = launches_;
  return telemetry;
}

}  // namespace xtune
