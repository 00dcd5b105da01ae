// The machine's clock.
#include "base/clock.hpp"

#include <time.h>

#include <chrono>

namespace xtune::base {
namespace {

class SystemClock final : public Clock {
 public:
  std::int64_t now_ns() override {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }
  std::int64_t unix_time_ms() override {
    return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch())
        .count();
  }
};

}  // namespace

double thread_cpu_s() {
  timespec used{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9;
}

Clock& system_clock() {
  // Never destroyed: destructors of other statics may still call it.
  static auto* clock = new SystemClock;
  return *clock;
}

}  // namespace xtune::base
