// The devices of a run: which are busy, which take part, and how they compare.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/run/tuner.hpp"
#include "ipc/rebuilding_bench.hpp"

namespace xtune::run {

/// A device that measures.
struct PooledDevice {
  enum class State {
    uncompared,  ///< not yet compared with the first one, which works regardless
    in_use,
    excluded,  ///< measures nothing in this run
  };
  ipc::BenchService* bench = nullptr;
  device::DeviceInfo device;
  State state = State::uncompared;
  bool busy = false;
  double slowness = 1;  ///< time of a configuration here, divided by its time on the first device
};

/// "device 1 (NVIDIA H200, GPU-5c...)".
std::string name_of(const device::DeviceInfo& device);

/// Times of different devices of one kind are comparable once each device has measured the same configuration
/// (calibration.hpp): the pool keeps the ratio.
class DevicePool {
 public:
  /// benches: of target.device, then of each of target.further. All must outlive this.
  DevicePool(const target::Target& target, const std::vector<ipc::BenchService*>& benches,
             ipc::CompileService& compiler, double compile_timeout_s, TuneObserver& observer);

  PooledDevice& first() noexcept { return devices_.front(); }
  std::vector<PooledDevice>& all() noexcept { return devices_; }
  bool is_first(const PooledDevice& device) const noexcept { return &device == &devices_.front(); }
  std::size_t busy() const;
  /// Whether a device other than the first waits for its comparison.
  bool any_uncompared() const;
  /// 1 for a device that does not belong to this run.
  double slowness_of(const device::DeviceInfo& device) const;
  /// Excludes the device with a warning.
  void exclude(PooledDevice& device, const std::string& why);
  void exclude_further(const std::string& why);

  /// job.device is set for each.
  void set_problem(ipc::OpenJob job);
  /// Opens the other devices that wait for their comparison: once, before their first job.
  void prepare_further();
  /// Call it after CompileService::cancel_all: submits again the lost artifacts that devices wait for.
  void compile_after_all();
  void cancel_all();

 private:
  std::vector<std::unique_ptr<ipc::RebuildingBench>> benches_;
  std::vector<PooledDevice> devices_;
  TuneObserver& observer_;
  bool prepared_ = false;  ///< prepare_further was called
};

}  // namespace xtune::run
