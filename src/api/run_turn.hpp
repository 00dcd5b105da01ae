// One run at a time in a process, on a loop that a stop token wakes.
#pragma once

#include <uv.h>

#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <optional>
#include <stop_token>

#include "system/descriptor.hpp"
#include "system/event_loop.hpp"
#include "xtune/error.hpp"

namespace xtune {

/// In the handler of an exception: throws it on if it is an Error(interrupted), which leaves the run.
inline void pass_interruption(const std::exception& error) {
  const auto* const own = dynamic_cast<const Error*>(&error);
  if (own && own->kind() == ErrorKind::interrupted) throw;
}

/// A loop, and a flag that a stop token sets from any thread; the loop then turns once. The token does not keep the
/// loop running. While the loop runs, poll (may be empty) is called every poll_interval; its exceptions leave the loop.
class StoppableLoop {
 public:
  static constexpr std::chrono::milliseconds poll_interval{50};
  StoppableLoop(const std::stop_token& token, const std::function<void()>& poll);
  StoppableLoop(const StoppableLoop&) = delete;
  StoppableLoop& operator=(const StoppableLoop&) = delete;
  system::EventLoop& loop() noexcept { return loop_; }
  const std::atomic<bool>& stop() const noexcept { return stop_; }

 private:
  void poll_later();

  std::atomic<bool> stop_{false};
  uv_async_t wake_;  // closed together with the loop, so it outlives it
  system::EventLoop loop_;
  const std::function<void()>& poll_;
  system::EventLoop::Watch next_poll_;
  std::optional<std::stop_callback<std::function<void()>>> callback_;  // destroyed before the loop
};

/// Holds the process's turn to tune or compile, and keeps the signals of failed writes from its thread. Throws
/// Error(invalid_argument) on a thread that already has it, from a callback; Error(interrupted) if the token is set
/// before the turn comes.
class RunTurn {
 public:
  /// poll: called regularly while another thread has the turn; may be empty. Its exceptions leave.
  RunTurn(const std::stop_token& stop, const std::function<void()>& poll);
  ~RunTurn();
  RunTurn(const RunTurn&) = delete;
  RunTurn& operator=(const RunTurn&) = delete;

 private:
  const system::WriteSignals quiet_;
};

}  // namespace xtune
