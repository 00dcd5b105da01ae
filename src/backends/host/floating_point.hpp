// The floating-point environment of a thread: rounding, flushing of denormal numbers, masked exceptions.
#pragma once

#include <cfenv>

namespace xtune::host {

/// Gives the calling thread back, at the end of the scope, the environment that it had at the beginning: what a kernel
/// sets in it would change the results and times of those that run after it.
class KeepFloatingPoint {
 public:
  KeepFloatingPoint() noexcept { std::fegetenv(&before_); }
  ~KeepFloatingPoint() { std::fesetenv(&before_); }
  KeepFloatingPoint(const KeepFloatingPoint&) = delete;
  KeepFloatingPoint& operator=(const KeepFloatingPoint&) = delete;

 private:
  std::fenv_t before_;
};

}  // namespace xtune::host
