// Ctrl-C and SIGTERM, for commands that end at the next place where nothing is lost.
#pragma once

#include <atomic>
#include <csignal>

#include "base/event_loop.hpp"

namespace xtune::cli {

/// While it lives, SIGINT and SIGTERM do not end the process: they set a flag, the next time that the loop runs.
class StopSignals {
 public:
  explicit StopSignals(base::EventLoop& loop)
      : interrupt_(loop.on_signal(SIGINT, [this] { asked_ = true; })),
        terminate_(loop.on_signal(SIGTERM, [this] { asked_ = true; })) {}
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  const std::atomic<bool>& asked() const noexcept { return asked_; }

 private:
  std::atomic<bool> asked_{false};
  base::EventLoop::Watch interrupt_, terminate_;
};

}  // namespace xtune::cli
