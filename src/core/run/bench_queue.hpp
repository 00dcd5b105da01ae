// Decides which device measures what, and when.
#pragma once

#include <deque>
#include <functional>

#include "core/run/calibration.hpp"
#include "core/run/device_pool.hpp"
#include "core/run/incumbent_tracker.hpp"
#include "core/run/record_keeper.hpp"
#include "core/run/run_context.hpp"

namespace xtune::run {

/// Compiled trials wait here for a device. The first device measures from the start; another one only if more trials
/// wait than the first device takes, and after it was compared (calibration.hpp). From time to time the incumbent is
/// measured again on the first device, since its time is relative to that device (incumbent_tracker.hpp).
///
/// On a CPU, compilers and the device take turns: a batch is compiled, then no compiler runs until all of it is
/// measured.
class BenchQueue {
 public:
  struct Listeners {
    std::function<void(const TrialPtr& trial)> compile;  ///< it comes back through add_compiled
    /// Its record is complete except for the stamp, and not stored yet.
    std::function<void(Trial& trial, const std::string& log)> measured;
    /// A stored record of this run shows that the incumbent's results are wrong.
    std::function<void(const record::Record& record, const std::string& log)> refuted;
  };
  /// The references must outlive it.
  BenchQueue(const RunContext& run, DevicePool& devices, Calibration& calibration, IncumbentTracker& incumbent,
             RecordKeeper& keeper, WorkerTotals& totals, Listeners listeners);

  void add(const TrialPtr& trial) { ready_.push_back(trial); }
  /// Receives a trial that this queue asked to be compiled.
  void add_compiled(const TrialPtr& trial, bool ok);
  std::size_t waiting() const noexcept { return ready_.size(); }
  bool idle() const { return ready_.empty() && devices_.busy() == 0; }

  /// Whether compilers may work now.
  bool may_compile() const { return !run_.alternates || (idle() && !devices_turn_); }
  /// The compilers are idle: if they take turns with the device, it is the device's turn.
  void begin_turn();
  /// Gives waiting trials to free devices.
  void give_work();
  void end_turn() {
    if (idle()) devices_turn_ = false;
  }
  /// The search is cut: waiting trials are dropped, and neither devices nor the incumbent are measured for comparison.
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
  bool warned_of_change_ = false;
  bool cut_ = false;
};

}  // namespace xtune::run
