// The floating-point environment of a thread: rounding, flushing of denormal numbers, masked exceptions.
#pragma once

#include <cfenv>

namespace xtune::host {

/// Restores the calling thread's environment at the end of the scope: changes by a kernel would affect the results and
/// times of later ones.
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
