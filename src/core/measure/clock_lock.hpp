// Fixing the clock of a device's compute units.
#pragma once

#include <string>

namespace xtune::measure {

/// One device's clock. Changing it needs privileges. Single-threaded.
class ClockLock {
 public:
  virtual ~ClockLock() = default;
  /// Fixes the clock at mhz, or for 0 at the device's own choice of a clock that it can always hold. Returns MHz.
  /// Throws Error and changes nothing: unavailable without permission, unsupported, or invalid_argument for a clock
  /// that the device does not have; the message states what to do.
  virtual int lock(int mhz) = 0;
  /// Lets the device choose its clock again. Throws Error(unavailable).
  virtual void unlock() = 0;
  /// The command that does the same as unlock().
  virtual std::string undo_command() const = 0;
};

}  // namespace xtune::measure
