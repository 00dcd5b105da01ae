// Clocks: the machine's, one that stands still while this process is kept from running, and dates for people.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace xtune::system {

class Clock {
 public:
  virtual ~Clock() = default;
  virtual std::int64_t now_ns() = 0;  ///< monotonic
  virtual std::int64_t unix_time_ms() = 0;
};

/// The clock of the machine. Never destroyed.
Clock& system_clock();

/// CPU time that the calling thread has used.
double thread_cpu_s();

/// Notices suspensions of this process while at least one SuspensionWatch exists. A shared thread wakes five times a
/// second: it is late by a second only if the whole process does not run.
class SuspensionWatch {
 public:
  SuspensionWatch();
  ~SuspensionWatch();
  SuspensionWatch(const SuspensionWatch&) = delete;
  SuspensionWatch& operator=(const SuspensionWatch&) = delete;

 private:
  struct Thread;
  std::shared_ptr<Thread> thread_;
};

/// Counts SIGCONT as the end of a suspension, however short. Only for our own programs: it replaces the signal's
/// handler.
void count_continue_signals() noexcept;

/// A count that differs between two calls if this process was suspended in between. Includes a suspension that the
/// thread of the watch has not noticed yet.
std::uint64_t suspensions() noexcept;

/// system_clock(), but it stands still while this process is suspended, as far as a SuspensionWatch notices (after the
/// first second). Never goes back.
Clock& awake_clock();

/// "2026-11-22 13:10:05 UTC"; the number itself if it is beyond the calendar.
std::string utc_text(std::int64_t unix_time_ms);

}  // namespace xtune::system
