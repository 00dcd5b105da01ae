// A stop token that wakes an event loop.
#pragma once

#include <uv.h>

#include <atomic>
#include <functional>
#include <optional>
#include <stop_token>

#include "base/event_loop.hpp"

namespace xtune {

/// A loop, and a flag that a stop token sets from any thread; the loop then turns once. The token does not keep the
/// loop running.
class StoppableLoop {
 public:
  explicit StoppableLoop(const std::stop_token& token);
  StoppableLoop(const StoppableLoop&) = delete;
  StoppableLoop& operator=(const StoppableLoop&) = delete;
  base::EventLoop& loop() noexcept { return loop_; }
  const std::atomic<bool>& stop() const noexcept { return stop_; }

 private:
  std::atomic<bool> stop_{false};
  uv_async_t wake_;  // closed together with the loop, so it outlives it
  base::EventLoop loop_;
  std::optional<std::stop_callback<std::function<void()>>> callback_;  // destroyed before the loop
};

}  // namespace xtune
