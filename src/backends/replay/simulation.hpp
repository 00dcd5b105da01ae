// Simulated time: a clock that jumps from event to event, driven by an event loop that never waits.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <utility>

#include "base/clock.hpp"
#include "base/event_loop.hpp"

namespace xtune::replay {

class Simulation final : public base::Clock {
 public:
  /// start_unix_ms: the calendar time at the start of the simulation.
  Simulation(base::EventLoop& loop, std::int64_t start_unix_ms) : loop_(loop), start_unix_ms_(start_unix_ms) {}

  std::int64_t now_ns() override { return now_ns_; }
  std::int64_t unix_time_ms() override { return start_unix_ms_ + now_ns_ / 1'000'000; }

  /// Calls `event` after this much simulated time: one event per turn of the loop, the earliest first, simultaneous
  /// ones in the order of the calls. An exception of an event leaves the loop.
  void after_s(double seconds, std::function<void()> event);

 private:
  void step();
  base::EventLoop& loop_;
  std::int64_t start_unix_ms_;
  std::int64_t now_ns_ = 0;
  std::uint64_t asked_ = 0;
  bool stepping_ = false;  ///< a step was posted
  std::map<std::pair<std::int64_t, std::uint64_t>, std::function<void()>> events_;
};

}  // namespace xtune::replay
