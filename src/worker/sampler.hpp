// Takes samples of one configuration: chooses buffers for each launch and launches per sample, and repeats disturbed
// ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "core/measure/device.hpp"
#include "core/measure/statistics.hpp"
#include "system/clock.hpp"

namespace xtune::worker {

/// Single-threaded; does not own the program and the buffers. Exceptions of the program pass through.
class Sampler {
 public:
  struct Plan {
    /// One argument list for each set of buffers; launches take turns. At least one.
    std::vector<std::vector<measure::KernelArgument>> sets;
    std::size_t flush_bytes = 0;               ///< overwritten before every sample
    bool graph = false;                        ///< launches are graphs (RunOptions::graph)
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

}  // namespace xtune::worker
