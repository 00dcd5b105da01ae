// Which device measures what, and when.
#pragma once

#include <deque>
#include <functional>

#include "core/run/calibration.hpp"
#include "core/run/device_pool.hpp"
#include "core/run/incumbent_tracker.hpp"
#include "core/run/record_keeper.hpp"
#include "core/run/run_context.hpp"

namespace xtune::run {

/// Compiled trials wait here for a device. The first device measures from the start; another one only once there is
/// more waiting than the first takes, and once it was compared (calibration.hpp). The incumbent is measured again, from
/// time to time, on the first device, whose times it stands for (incumbent_tracker.hpp).
///
/// On a CPU, compilers and the device take turns: a batch compiles, then nothing compiles until all of it is measured.
class BenchQueue {
 public:
  struct Listeners {
    std::function<void(const TrialPtr& trial)> compile;  ///< to come back by add_compiled
    /// Its record is filled, and neither stamped nor stored.
    std::function<void(Trial& trial, const std::string& log)> measured;
    /// A stored record of this run says that the incumbent's results are wrong.
    std::function<void(const record::Record& record, const std::string& log)> refuted;
  };
  /// The references outlive it.
  BenchQueue(const RunContext& run, DevicePool& devices, Calibration& calibration, IncumbentTracker& incumbent,
             RecordKeeper& keeper, WorkerTotals& totals, Listeners listeners);

  void add(const TrialPtr& trial) { ready_.push_back(trial); }
  /// Of a trial that this asked to be compiled.
  void add_compiled(const TrialPtr& trial, bool ok);
  std::size_t waiting() const noexcept { return ready_.size(); }
  bool idle() const { return ready_.empty() && devices_.busy() == 0; }

  /// Whether compilers may work now.
  bool may_compile() const { return !run_.alternates || (idle() && !devices_turn_); }
  /// The compilers have nothing left: where they take turns with the device, it is the device's.
  void begin_turn();
  /// Gives what waits to devices that are free.
  void give_work();
  void end_turn() {
    if (idle()) devices_turn_ = false;
  }
  /// The search is cut: what waits is dropped, and neither devices nor the incumbent are compared any more.
  void cut();

 private:
  void start_idle();
  void start(PooledDevice& device);
  bool seek_calibration();
  void calibrate(PooledDevice& device, const TrialPtr& trial);
  void follow_drift();
  void measure_incumbent(const TrialPtr& trial);
  void take_drift(const Trial& trial, const ipc::RoundsAnswer& answer);
  void take(const TrialPtr& trial, PooledDevice& device, const ipc::BenchAnswer& answer);

  const RunContext& run_;
  DevicePool& devices_;
  Calibration& calibration_;
  IncumbentTracker& incumbent_;
  RecordKeeper& keeper_;
  WorkerTotals& totals_;
  const Listeners listeners_;
  std::deque<TrialPtr> ready_;
  bool devices_turn_ = false;  ///< alternating: until ready_ is empty
  bool compared_time_unit_ = false;
  bool cut_ = false;
};

}  // namespace xtune::run
