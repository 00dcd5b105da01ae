// A clock that advances only when a test sets it.
#pragma once

#include "system/clock.hpp"

namespace xtune::fakes {

class FakeClock final : public system::Clock {
 public:
  std::int64_t now_ns() override { return ns_; }
  std::int64_t unix_time_ms() override { return 1'700'000'000'000 + ns_ / 1'000'000; }
  void advance_s(double seconds) { ns_ += static_cast<std::int64_t>(seconds * 1e9); }

 private:
  std::int64_t ns_ = 1'000'000'000;
};

}  // namespace xtune::fakes
