// What disturbs a measurement: waited out within a bound, else told. Pure: looking and pausing are arguments.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/measure/device_state.hpp"

namespace xtune::measure {

/// A sentence for each thing that disturbs in this state and may pass: other processes, throttling. One of the
/// processes is taken for this one: in a container the monitor may number it otherwise.
std::vector<std::string> disturbances(const DeviceState& state);

/// Single-threaded; one for all series on a device.
class NoiseGuard {
 public:
  using Look = std::function<DeviceState()>;
  using Pause = std::function<void(double seconds)>;
  /// wait_s: at most, for each disturbance; 0 = never.
  explicit NoiseGuard(double wait_s) : wait_s_(wait_s) {}

  /// Before a series: looks, pauses and looks again while something disturbs. What has outlasted a wait is not waited
  /// for again before it was gone once, so that a machine that is never quiet costs one wait.
  void settle(const Look& look, const Pause& pause);

  /// After a series, with the state then and the median clock of its samples (0 = not known): why its numbers are
  /// suspect; empty: they are not. Slower than this share of the device's maximum, a clock is throttled.
  std::vector<std::string> taints(const DeviceState& after, double clock_mhz);
  static constexpr double min_clock = 0.75;
  static constexpr double max_stolen = 0.1;  ///< of the processors' time

  static constexpr double pause_s = 0.05;

 private:
  double wait_s_;
  std::vector<std::string> before_;     ///< what disturbed when the series began
  std::vector<std::string> outlasted_;  ///< waited for in vain
  std::optional<std::uint64_t> errors_;
};

}  // namespace xtune::measure
