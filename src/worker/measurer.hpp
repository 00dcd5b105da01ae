// Measures programs: their samples, and the state of the device around them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/measure/device.hpp"
#include "core/measure/noise_guard.hpp"
#include "core/measure/race.hpp"
#include "core/measure/statistics.hpp"
#include "system/clock.hpp"
#include "worker/bench_problem.hpp"

namespace xtune::worker {

/// Single-threaded; does not own the program and the buffers. Exceptions of the program pass through.
class Sampler {
 public:
  struct Plan {
    /// One argument list for each set of buffers; launches take turns. At least one.
    std::vector<std::vector<measure::KernelArgument>> sets;
    std::size_t flush_bytes = 0;               ///< overwritten before every sample
    bool graph = false;                        ///< launches are graphs (RunOptions::graph)
    std::vector<measure::Buffer*> zeroed;      ///< before each launch (RunOptions::zeroed)
    std::function<void(std::size_t)> restore;  ///< restores a set's in-place arguments before its launch; may be empty
    /// Its result differs between two calls if this process was suspended in between (system/clock.hpp).
    std::function<std::uint64_t()> suspensions = xtune::system::suspensions;
  };
  Sampler(measure::Program& program, Plan plan);

  /// Does this many launches, whose times do not count. If launches need neither a flush nor restored arguments, one
  /// more launch determines how many a sample has; otherwise a kernel below 40 us is launched up to eight times for a
  /// sample, each timed separately.
  void warm_up(int launches);
  /// The next sample; a span of it is repeated up to three times if the host is late, and up to ten times more if this
  /// process was suspended meanwhile.
  double sample_ms();

  /// Launches this many times, untimed, without a flush, and back to back as far as in-place arguments allow.
  void run_on(int launches);

  /// Launches in one span, back to back.
  int launches() const noexcept { return launches_; }

  /// Other values that programs report, a list for each of their metrics: for each sample so far, in order.
  const std::vector<std::vector<double>>& reported() const noexcept { return reported_; }

  /// For the samples so far: clock, overhead, launches.
  measure::Telemetry telemetry() const;

 private:
  measure::Sample take(int launches, bool timed);
  measure::Sample take_awake();

  measure::Program& program_;
  Plan plan_;
  std::size_t next_ = 0;  ///< the set for the next launch
  int launches_ = 1;      ///< within a span
  int spans_ = 1;         ///< in a sample
  double spent_ms_ = 0;   ///< of the last timed launch; 0: none
  double overhead_ms_ = 0;
  std::vector<double> clocks_mhz_;
  std::vector<std::vector<double>> reported_;
};

class Validator;

/// Takes the samples of one program at a time.
class Measurer {
 public:
  /// The references must outlive it.
  Measurer(BenchProblem& problem, Validator& validator, system::Clock& clock);

  Sampler sampler(LoadedProgram& loaded, const run::KernelCall& call);
  /// Waits while others use the device or it is too hot, up to the limit in [measure]. Returns how long, in seconds.
  double settle();
  /// Adds the device's state. Returns the reasons why samples until now are suspect.
  std::vector<std::string> watch(measure::Telemetry& telemetry);
  /// The launch before the samples.
  struct First {
    double time_ms = 0;  ///< 0: unknown
    double wall_s = 0;
  };
  /// Settles, and takes the samples of a configuration that was launched once. If the budget does not allow another
  /// launch, the first one is the only sample. Returns false if the launch after the samples is not due: it was pruned,
  /// or has no time left.
  bool measure(Sampler& sampler, const run::BenchJob& job, const First& first, measure::Budget& budget,
               run::BenchAnswer& answer);

 private:
  measure::DeviceState look();
  void measure_energy(Sampler& sampler, const measure::Budget& budget, run::BenchAnswer& answer);

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
