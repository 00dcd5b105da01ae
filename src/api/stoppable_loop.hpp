// An event loop that a stop token wakes, and that calls the application back regularly.
#pragma once

#include <uv.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <stop_token>

#include "base/event_loop.hpp"

namespace xtune {

/// A loop, and a flag that a stop token sets from any thread; the loop then turns once. The token does not keep the
/// loop running. While the loop runs, poll (may be empty) is called every poll_interval; its exceptions leave the loop.
class StoppableLoop {
 public:
  static constexpr std::chrono::milliseconds poll_interval{50};
  StoppableLoop(const std::stop_token& token, const std::function<void()>& poll);
  StoppableLoop(const StoppableLoop&) = delete;
  StoppableLoop& operator=(const StoppableLoop&) = delete;
  base::EventLoop& loop() noexcept { return loop_; }
  const std::atomic<bool>& stop() const noexcept { return stop_; }

 private:
  void poll_later();

  std::atomic<bool> stop_{false};
  uv_async_t wake_;  // closed together with the loop, so it outlives it
  base::EventLoop loop_;
  const std::function<void()>& poll_;
  base::EventLoop::Watch next_poll_;
  std::optional<std::stop_callback<std::function<void()>>> callback_;  // destroyed before the loop
};

}  // namespace xtune
