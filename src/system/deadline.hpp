// Time limits that count only time in which the waiting process could have seen an answer.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>

namespace xtune::system {

class EventLoop;

/// How much of a time limit is used up. Each wait counts with the length that was requested, not with the clock's: a
/// process that did not run for an hour (suspended, frozen) could not see an answer during that hour, so only one wait
/// has passed. Pure.
class TimeAllowance {
 public:
  explicit TimeAllowance(double limit_s) noexcept;
  std::uint64_t next_wait_ms() const noexcept;  ///< how long to wait before the next call of waited(); at least 1
  /// Records that a wait of next_wait_ms() is over. stopped: the process that should answer was stopped, or got no CPU.
  /// Such waits do not count, up to the length of the limit, but at least a minute.
  void waited(bool stopped) noexcept;
  bool is_over() const noexcept { return used_ms_ >= limit_ms_ || was_stopped_too_long(); }
  /// Whether the process that should answer has been stopped for longer than a run can wait.
  bool was_stopped_too_long() const noexcept { return stopped_ms_ >= longest_stop_ms_; }

 private:
  std::uint64_t limit_ms_, step_ms_, longest_stop_ms_;
  std::uint64_t used_ms_ = 0, stopped_ms_ = 0;
};

/// Whether a process or one that it started (and that still has its parents) is stopped by a signal or a debugger.
/// False if /proc does not report it.
bool is_stopped(int pid);
enum class Watched { process, process_and_children };
/// Whether a stopped process has sent the signal to itself (SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU), so that no other will
/// let it go on: it is still in that system call. False if /proc does not report it.
bool has_stopped_itself(int pid, Watched watched = Watched::process_and_children);

/// The CPU time of a thread so far.
struct CpuTime {
  std::uint64_t run_ns = 0, wait_ns = 0;  ///< time on a CPU; time ready to run, but waiting for a CPU
};
using CpuTimes = std::map<int, CpuTime>;  ///< by thread id
/// The CPU times of all threads of a process and of processes that it started (and that still have their parents), from
/// /proc. Empty if /proc does not report them.
CpuTimes cpu_times(int pid);

/// Whether a process waited for CPUs nearly all the time between two readings, which are passed_ns apart: one of its
/// threads waited for more than this share of the time, and all its threads together got less than the remaining share
/// of what they could use. If a process has more threads than CPUs, its threads wait for each other, which does not
/// count: cpus is the number that the process may use. Pure.
bool was_starved(const CpuTimes& before, const CpuTimes& now, double passed_ns, double cpus, double share);

/// The time that the threads of a process had on CPUs between two readings. Pure.
double run_ns(const CpuTimes& before, const CpuTimes& now);

/// How many CPUs a process may use at once, by its affinity and its control group; at least 1.
double usable_cpus(int pid);

/// The share of the time between two readings, which are passed_ns apart, that a process lost to waiting for CPUs: of
/// the time that its threads could have run, on as many CPUs as it may use. Threads that wait for each other lose
/// nothing. 0 if they waited for less than 4 ms in all, a time slice of another program: that is one sample. Pure.
double lost_share(const CpuTimes& before, const CpuTimes& now, double passed_ns, double cpus);

/// Why a time limit is over: the process was only too slow; it was stopped for too long, or got no CPU, because of
/// others; or it stopped itself, which ends the limit at once.
enum class Expiry { too_slow, held_up, stopped_itself };

/// Calls back once, on the loop's thread, when a TimeAllowance is used up and all data that arrived before has been
/// read. Destruction and cancel() prevent the call, also from inside callbacks.
class Deadline {
 public:
  using Expired = std::function<void(Expiry why)>;

  Deadline();  ///< no time limit
  /// pid: the process that should answer; 0: no process to watch. limit_s: infinity and NaN mean no limit. watched:
  /// which processes end the limit by stopping themselves.
  Deadline(EventLoop& loop, double limit_s, int pid, Expired expired, Watched watched = Watched::process_and_children);
  ~Deadline();
  Deadline(Deadline&&) noexcept;
  Deadline& operator=(Deadline&&) noexcept;
  void cancel() noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace xtune::system
