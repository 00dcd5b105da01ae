// Whether this process was kept from running: stopped by a signal, or frozen with its control group or its machine.
#pragma once

#include <cstdint>
#include <memory>

#include "base/clock.hpp"

namespace xtune::base {

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

}  // namespace xtune::base
