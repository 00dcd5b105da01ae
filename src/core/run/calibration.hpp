// Whether the devices of a run are as fast as each other: all of them measure one configuration.
#pragma once

#include <cstdint>
#include <optional>

#include "core/run/device_pool.hpp"
#include "core/run/trial.hpp"

namespace xtune {

/// The configuration is the first one that passed. It is measured in full, on the first device and then on each other
/// one, before any other device measures anything that counts. A device whose median is certainly more than 2 % off
/// (by the confidence intervals of both medians) is throttled, shared or broken, and is excluded: scaling its times
/// would hide that. A smaller difference becomes the device's slowness, by which its times are divided wherever times
/// of two devices meet. Where the configuration fails on the first device the second time, the next one that passes is
/// taken; after three such failures the first device works on its own.
class Calibration {
 public:
  explicit Calibration(DevicePool& devices) : devices_(devices) {}

  /// A configuration that passed.
  void offer(std::uint64_t index) {
    if (!index_) index_ = index;
  }
  /// What is to be compiled now: asked for once, where there is a device to compare.
  std::optional<std::uint64_t> take_wanted();
  /// It compiled; or not: then the next configuration that passes is taken.
  void compiled(TrialPtr trial, bool ok);
  /// Whether the device is to measure it now.
  bool wants(const PooledDevice& device) const;
  const Trial& trial() const { return *trial_; }
  /// What came of it: a record as fill_record makes it.
  void judge(PooledDevice& device, const Record& record);

 private:
  void try_another();
  DevicePool& devices_;
  std::optional<std::uint64_t> index_;  ///< in the space
  bool asked_ = false;                  ///< it is being compiled, or was
  int failures_ = 0;                    ///< on the first device
  TrialPtr trial_;                      ///< compiled
  std::optional<Summary> time_ms_;      ///< on the first device
};

}  // namespace xtune
