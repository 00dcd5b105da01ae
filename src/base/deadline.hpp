// Time limits that count only time in which something could happen.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>

namespace xtune::base {

class EventLoop;

/// How much of a time limit is used up. Counts waits by the length that was asked for, whatever the clock says: when
/// the waiting process did not run for an hour (suspended, frozen), it could not see an answer either, and one wait has
/// passed. Pure.
class TimeAllowance {
 public:
  explicit TimeAllowance(double limit_s) noexcept;
  std::uint64_t next_wait_ms() const noexcept;  ///< how long to wait before the next call of waited(); at least 1
  /// A wait of next_wait_ms() is over. stopped: the process that is to answer was found stopped, or got no CPU. Such
  /// waits do not count, up to as much time again as the limit, but at least a minute.
  void waited(bool stopped) noexcept;
  bool is_over() const noexcept { return used_ms_ >= limit_ms_ || was_stopped_too_long(); }
  /// The process that is to answer has been stopped for longer than a run can wait.
  bool was_stopped_too_long() const noexcept { return stopped_ms_ >= longest_stop_ms_; }

 private:
  std::uint64_t limit_ms_, step_ms_, longest_stop_ms_;
  std::uint64_t used_ms_ = 0, stopped_ms_ = 0;
};

/// Whether a process or one that it started (and that still has its parents) is stopped by a signal or a debugger.
/// False where /proc does not tell.
bool is_stopped(int pid);

/// What a thread had of the CPUs so far.
struct CpuTime {
  std::uint64_t run_ns = 0, wait_ns = 0;  ///< on a CPU; ready to run, and waiting for one
};
using CpuTimes = std::map<int, CpuTime>;  ///< by thread id
/// Of all threads of a process and of those that it started (and that still have their parents), by /proc. Empty where
/// that does not tell.
CpuTimes cpu_times(int pid);

/// Whether a process waited for CPUs nearly all the time between two looks, which are passed_ns apart: a thread of it
/// waited for more than this share of the time, and all its threads together got less than the rest of what they could
/// use. More threads than CPUs wait for each other, which is their own doing: cpus is how many the process may use.
/// Pure.
bool was_starved(const CpuTimes& before, const CpuTimes& now, double passed_ns, double cpus, double share);

/// Calls back once, on the loop's thread, when a TimeAllowance is used up, and what had come by then was read.
/// Destruction and cancel() call it off, also from inside of callbacks.
class Deadline {
 public:
  /// stopped: the process was stopped, or got no CPU, for too long, rather than too slow.
  using Expired = std::function<void(bool stopped)>;

  Deadline();  ///< none
  /// pid: the process that is to answer; 0: there is none to look at. limit_s: infinite or not a number: never.
  Deadline(EventLoop& loop, double limit_s, int pid, Expired expired);
  ~Deadline();
  Deadline(Deadline&&) noexcept;
  Deadline& operator=(Deadline&&) noexcept;
  void cancel() noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace xtune::base
