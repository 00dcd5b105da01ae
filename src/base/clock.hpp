// A clock that is passed as an argument to code that needs the time.
#pragma once

#include <cstdint>

namespace xtune::base {

class Clock {
 public:
  virtual ~Clock() = default;
  virtual std::int64_t now_ns() = 0;  ///< monotonic
  virtual std::int64_t unix_time_ms() = 0;
};

/// The clock of the machine. Never destroyed.
Clock& system_clock();

/// CPU time that the calling thread has used.
double thread_cpu_s();

}  // namespace xtune::base
