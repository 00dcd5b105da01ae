// Measures programs: their samples, and the state of the device around them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/measure/noise_guard.hpp"
#include "core/measure/race.hpp"
#include "core/measure/statistics.hpp"
#include "system/clock.hpp"
#include "worker/bench_problem.hpp"
#include "worker/sampler.hpp"
#include "worker/validator.hpp"

namespace xtune::worker {

/// Takes the samples of one program at a time.
class Measurer {
 public:
  /// The references must outlive it.
  Measurer(BenchProblem& problem, Validator& validator, system::Clock& clock);

  Sampler sampler(LoadedProgram& loaded, const KernelCall& call);
  /// Waits while others use the device or it is too hot, up to the limit in [measure].
  void settle();
  /// Adds the device's state. Returns the reasons why samples until now are suspect.
  std::vector<std::string> watch(measure::Telemetry& telemetry);
  /// Settles, and takes the samples of a configuration that was launched once. first_ms: the time of that launch.
  /// Returns false if it was pruned.
  bool measure(Sampler& sampler, const run::BenchJob& job, double first_ms, run::BenchAnswer& answer);

 private:
  measure::DeviceState look();
  void measure_energy(Sampler& sampler, run::BenchAnswer& answer);

  BenchProblem& problem_;
  Validator& validator_;
  system::Clock& clock_;
  measure::NoiseGuard guard_;
  measure::Roughness roughness_;
  // The last look at the device's state.
  measure::DeviceState state_;
  std::optional<std::int64_t> looked_ns_;
  std::int64_t look_took_ns_ = 0;
};

}  // namespace xtune::worker
