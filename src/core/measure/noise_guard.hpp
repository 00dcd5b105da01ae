// Disturbances of a measurement: the guard waits for them to pass, up to a limit, and else reports them. Pure: reading
// the state and pausing are arguments.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/measure/device.hpp"

namespace xtune::measure {

/// A sentence for each temporary disturbance in this state: other processes, throttling. One of the processes is
/// assumed to be this one, since in a container the monitor may use another id for it.
std::vector<std::string> disturbances(const DeviceState& state);

/// Whether the reason is that a kernel changed its process ("the kernel left 4 descriptors open"), which also disturbs
/// the configurations that are measured in the same process.
bool changed_process(const std::string& reason);

/// Single-threaded; one object for all series on a device.
class NoiseGuard {
 public:
  using Look = std::function<DeviceState()>;
  using Pause = std::function<void(double seconds)>;
  /// wait_s: maximum for each disturbance; 0: never wait.
  explicit NoiseGuard(double wait_s) : wait_s_(wait_s) {}

  /// Before a series: reads the state, and pauses and reads it again while there is a disturbance. A disturbance that
  /// outlasted a wait is not waited for again until it has been absent once, so a machine that is always busy costs one
  /// wait.
  void settle(const Look& look, const Pause& pause);

  /// After a series, with the state at its end and the median clock of its samples (0: unknown): the reasons why its
  /// numbers are suspect; empty: they are not. A clock below this share of the device's maximum is throttled.
  std::vector<std::string> taints(const DeviceState& after, double clock_mhz);
  static constexpr double min_clock = 0.75;
  static constexpr double max_stolen = 0.1;  ///< share of the processors' time
  /// Share of a CPU kernel's own time, by which its times may be too long. Configurations within 5 % of the best meet
  /// in the finals, so that a smaller one costs no configuration its place there.
  static constexpr double max_lost = 0.05;

  static constexpr double pause_s = 0.05;

 private:
  double wait_s_;
  std::vector<std::string> before_;     ///< disturbances when the series began
  std::vector<std::string> outlasted_;  ///< disturbances that outlasted a wait
  std::optional<std::uint64_t> errors_;
};

}  // namespace xtune::measure
