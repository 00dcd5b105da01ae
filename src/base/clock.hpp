// The clock as an argument: whoever needs the time is handed one of these.
#pragma once

#include <cstdint>

namespace xtune::base {

class Clock {
 public:
  virtual ~Clock() = default;
  virtual std::int64_t now_ns() = 0;  ///< monotonic
  virtual std::int64_t unix_time_ms() = 0;
};

/// The machine's. Lives to the end of the process.
Clock& system_clock();

/// CPU time that the calling thread has used.
double thread_cpu_s();

}  // namespace xtune::base
