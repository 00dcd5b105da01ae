// Tells whether a process has gone, for tests that kill.
#pragma once

#include <cerrno>
#include <csignal>
#include <fstream>
#include <string>

#include "system/event_loop.hpp"

namespace xtune::fakes {

/// No such process, or only a zombie that its new parent has not reaped yet.
inline bool is_dead(int pid) {
  if (kill(pid, 0) != 0 && errno == ESRCH) return true;
  std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  if (!std::getline(stat, line)) return true;
  const auto end_of_name = line.rfind(')');
  return end_of_name != std::string::npos && line.compare(end_of_name, 4, ") Z ") == 0;
}

/// Runs the loop until the process is dead; false when it still lives after ten seconds.
inline bool dies_within_deadline(system::EventLoop& loop, int pid) {
  if (pid <= 0) return false;
  const auto deadline_ms = loop.now_ms() + 10000;
  while (!is_dead(pid)) {
    if (loop.now_ms() > deadline_ms) return false;
    const auto poll = loop.call_after(2, [] {});
    loop.run_once();
  }
  return true;
}

}  // namespace xtune::fakes
