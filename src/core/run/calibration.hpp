// Compares the speed of a run's devices: all of them measure one configuration.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "core/run/device_pool.hpp"
#include "core/run/trial.hpp"

namespace xtune::run {

/// The configuration is the first one that passed. Each device measures it in full before its other measurements count;
/// the first device measures it once more, so that all of them measure it at about the same time. The other devices
/// need not wait for the first: their results are judged when the first device's time is known. A device whose median
/// is certainly more than 2 % off (by the confidence intervals of both medians) is throttled, shared or broken, and is
/// excluded: scaling its times would hide that. A smaller difference becomes the device's slowness, by which its times
/// are divided whenever times of two devices are compared. If the configuration fails on the first device the second
/// time, the next one that passes is used; after three such failures only the first device is used.
class Calibration {
 public:
  struct Wanted {
    std::uint64_t index;                      ///< in the space
    std::optional<build::Artifact> artifact;  ///< unset: it must be compiled
  };
  explicit Calibration(DevicePool& devices) : devices_(devices) {}

  /// A configuration that passed; artifact: set if this run has compiled it.
  void offer(std::uint64_t index, const build::Artifact* artifact) {
    if (!offered_) offered_ = {index, artifact ? std::optional(*artifact) : std::nullopt};
  }
  /// The configuration to measure: returned once, if there is a device to compare.
  std::optional<Wanted> take_wanted();
  /// Its artifact is ready; or it did not compile: then the next configuration that passes is used.
  void compiled(TrialPtr trial, bool ok);
  /// The trial that the device must measure now; null: none.
  TrialPtr wanted_of(const PooledDevice& device) const;
  /// The result of the trial there: a record as fill_record makes it.
  void take(PooledDevice& device, const TrialPtr& trial, const record::Record& record);

 private:
  void judge(PooledDevice& device, const record::Record& record);
  void try_another();
  DevicePool& devices_;
  std::optional<Wanted> offered_;
  bool asked_ = false;                                             ///< offered_ is being compiled, or was compiled
  int failures_ = 0;                                               ///< on the first device
  TrialPtr trial_;                                                 ///< compiled
  std::optional<measure::Summary> time_ms_;                        ///< on the first device
  std::vector<std::pair<PooledDevice*, record::Record>> waiting_;  ///< results of other devices that wait for time_ms_
};

}  // namespace xtune::run
