// Samples of one configuration: which buffers a launch takes, how many launches a sample has, what is taken again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/suspension.hpp"
#include "core/measure/device.hpp"
#include "core/measure/telemetry.hpp"

namespace xtune::worker {

/// Single-threaded; borrows the program and the buffers. Exceptions of the program pass through.
class Sampler {
 public:
  struct Plan {
    /// One argument list for each set of buffers; launches take turns. At least one.
    std::vector<std::vector<measure::KernelArgument>> sets;
    std::size_t flush_bytes = 0;  ///< overwritten ahead of every sample
    std::function<void(std::size_t)>
        restore;  ///< puts a set's in-place arguments right before its launch; may be empty
    /// Differs between two calls where this process was suspended in between (base/suspension.hpp).
    std::function<std::uint64_t()> suspensions = xtune::base::suspensions;
  };
  Sampler(measure::Program& program, Plan plan);

  /// That many launches, whose times do not count. Where neither a flush nor in-place arguments keep launches apart,
  /// one more tells how many a sample takes; else a kernel below 40 us is launched up to eight times for a sample, each
  /// time on its own.
  void warm_up(int launches);
  /// The next sample; a span of it is taken up to three times where the host is late, and up to ten times more where
  /// this process was suspended meanwhile.
  double sample_ms();

  /// Launches so many times, untimed, unflushed and one behind the other as far as in-place arguments allow.
  void run_on(int launches);

  /// Of a span, one behind the other.
  int launches() const noexcept { return launches_; }

  /// What programs report beside the time, a list for each of their metrics: of each sample so far, in order.
  const std::vector<std::vector<double>>& reported() const noexcept { return reported_; }

  /// Of the samples so far: clock, overhead, launches.
  measure::Telemetry telemetry() const;

 private:
  measure::Sample take(int launches, bool timed);
  measure::Sample take_awake();

  measure::Program& program_;
  Plan plan_;
  std::size_t next_ = 0;  ///< whose turn it is
  int launches_ = 1;      ///< within a span
  int spans_ = 1;         ///< a sample's
  double spent_ms_ = 0;   ///< by the last launch that was timed; 0: none was
  double overhead_ms_ = 0;
  std::vector<double> clocks_mhz_;
  std::vector<std::vector<double>> reported_;
};

}  // namespace xtune::worker
