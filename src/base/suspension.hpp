// Whether this process was kept from running: stopped by a signal, frozen with its control group or its machine.
#pragma once

#include <cstdint>
#include <memory>

#include "base/clock.hpp"

namespace xtune::base {

/// Notices suspensions of this process by a thread that wakes five times a second, while at least one of these lives:
/// only where the whole process does not run is that thread late by a second. All of them share one thread.
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

/// Counts SIGCONT as the end of a suspension, however short. For programs of our own: it takes the signal's handler.
void count_continue_signals() noexcept;

/// Differs between two calls when this process was suspended in between. Also true of a suspension that the thread of
/// the watch has yet to see.
std::uint64_t suspensions() noexcept;

/// system_clock() that stands still while this process is suspended, as far as a SuspensionWatch notices (after the
/// first second). Never goes back.
Clock& awake_clock();

}  // namespace xtune::base
