// A bench service over a simulated device: takes samples, races and rounds as a worker does, on its own clock.
#pragma once

#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "core/measure/race.hpp"
#include "fakes/fake_clock.hpp"
#include "fakes/fake_services.hpp"
#include "fakes/noise.hpp"

namespace xtune::fakes {

class NoisyBench {
 public:
  /// true_ms: how long a configuration really takes.
  NoisyBench(FakeBenchService& service, FakeClock& clock, const Noise& noise, std::uint64_t seed,
             std::function<double(const run::BenchJob&)> true_ms)
      : clock_(clock), device_(noise, seed), true_ms_(std::move(true_ms)) {
    service.respond = [this](const run::BenchJob& job) { return bench(job); };
    service.respond_rounds = [this](const run::RoundsJob& job) { return rounds(job); };
  }
  spec::MeasureSpec measure;
  double busy_s = 0;
  /// From this round of the finals on (0: the first), launches take `slowness` times as long.
  std::size_t slow_from_round = SIZE_MAX;
  std::size_t slow_from_configuration = SIZE_MAX;  ///< the same for the search
  double slowness = 1.37;

 private:
  double launch(const run::BenchJob& job) {
    const double slow = rounds_ > slow_from_round || configurations_ > slow_from_configuration ? slowness : 1;
    const double time_ms = device_.launch_ms(true_ms_(job)) * slow;
    clock_.advance_s(time_ms * 1e-3);
    busy_s += time_ms * 1e-3;
    return time_ms;
  }
  run::BenchAnswer bench(const run::BenchJob& job) {
    ++configurations_;
    const double before_s = busy_s;
    const measure::StoppingRule rule{measure.min_rep, measure.rep, measure.min_time_ms, measure.max_time_ms,
                                     measure.noise};
    const auto sample = [&] { return launch(job); };
    const auto warm_up = [&](int launches) {
      for (int i = 0; i < launches; ++i) sample();
    };
    const measure::Budget budget(clock_, measure.timeout_s);
    const double first_ms = sample();
    const measure::Series series = measure::measure_challenger({sample, warm_up, measure.warmup, first_ms}, rule,
                                                               budget, job.incumbent, roughness_);
    run::BenchAnswer answer;
    answer.stage = "measure";
    answer.samples_ms = series.samples_ms;
    if (series.stopped_by == measure::Stop::beaten) answer.outcome = Outcome::pruned;
    answer.busy_s = busy_s - before_s;
    return answer;
  }
  run::RoundsAnswer rounds(const run::RoundsJob& job) {
    const double before_s = busy_s;
    run::RoundsAnswer answer;
    answer.samples_ms.resize(job.jobs.size());
    for (const auto& round : job.rounds) {
      ++rounds_;
      for (const std::size_t index : round) answer.samples_ms[index].push_back(launch(job.jobs[index]));
    }
    answer.busy_s = busy_s - before_s;
    return answer;
  }
  FakeClock& clock_;
  std::size_t rounds_ = 0, configurations_ = 0;  ///< begun so far
  measure::Roughness roughness_;
  NoisyDevice device_;
  std::function<double(const run::BenchJob&)> true_ms_;
};

}  // namespace xtune::fakes
