// A clock that runs, on the day of one that does not.
#pragma once

#include "fakes/fake_clock.hpp"
#include "system/clock.hpp"

namespace xtune::fakes {

/// For what looks at other processes: their silence is noticed, and records keep the times of the fake one.
struct RunningClock final : system::Clock {
  FakeClock& day;
  explicit RunningClock(FakeClock& clock) : day(clock) {}
  std::int64_t now_ns() override { return system::system_clock().now_ns(); }
  std::int64_t unix_time_ms() override { return day.unix_time_ms(); }
};

}  // namespace xtune::fakes
