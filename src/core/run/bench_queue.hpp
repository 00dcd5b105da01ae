// Decides which device measures what, and when.
#pragma once

#include <deque>
#include <string>

#include "core/run/device_pool.hpp"
#include "core/run/run_context.hpp"
#include "core/run/services.hpp"
#include "core/spec/process_spec.hpp"

namespace xtune::run {

struct RunParts;

/// What the user should know where the wall clock of a program that ran on the CPU is about 1000 times its time, or
/// less than its time, and the spec gives no unit; else empty.
std::string time_unit_warning(const spec::ProcessSpec& process, const BenchAnswer& answer);

/// Compiled trials wait here for a device. The first device measures from the start; another one only if more trials
/// wait than the first device takes, and after it was compared (Calibration). From time to time the incumbent is
/// measured again on the first device, since its time is relative to that device (IncumbentTracker).
///
/// On a CPU, compilers and the device take turns: a batch is compiled, then no compiler runs until all of it is
/// measured.
class BenchQueue {
 public:
  explicit BenchQueue(RunParts& run);

  void add(const TrialPtr& trial) { ready_.push_back(trial); }
  /// Receives a trial that this queue asked to be compiled.
  void add_compiled(const TrialPtr& trial, bool ok);
  std::size_t waiting() const noexcept { return ready_.size(); }
  bool idle() const;

  /// Whether compilers may work now.
  bool may_compile() const;
  /// The compilers are idle: if they take turns with the device, it is the device's turn.
  void begin_turn();
  /// Measures the incumbent again if it is time for that; last: the search is over. Returns whether it does.
  bool follow_drift(bool last = false);
  /// Gives waiting trials to free devices.
  void give_work();
  void end_turn();
  /// The search is cut: waiting trials are dropped, and neither devices nor the incumbent are measured for comparison.
  void cut();

 private:
  void start_idle();
  void start(PooledDevice& device);
  bool seek_calibration();
  void calibrate(PooledDevice& device, const TrialPtr& trial);
  void measure_incumbent(const TrialPtr& trial);
  void take_drift(const Trial& trial, const RoundsAnswer& answer);
  void take(const TrialPtr& trial, PooledDevice& device, const BenchAnswer& answer);
  /// The first time.
  void warn_of_few_samples(const Bindings& config, const BenchAnswer& answer);

  RunParts& run_;
  std::deque<TrialPtr> ready_;
  bool devices_turn_ = false;  ///< alternating: until ready_ is empty
  bool compared_time_unit_ = false;
  bool warned_of_change_ = false;
  bool warned_of_few_samples_ = false;
  bool cut_ = false;
};

}  // namespace xtune::run
