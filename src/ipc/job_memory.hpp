// How many compilers can run at once in the memory of this machine.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>

namespace xtune::ipc {

/// A job counts as a gibibyte until the first peak is reported, then as 1.25 times the maximum peak so far.
class JobMemory {
 public:
  /// available: returns the bytes that are free now; called for each decision.
  explicit JobMemory(std::function<std::uint64_t()> available) : available_(std::move(available)) {}
  void measured(std::uint64_t peak_bytes) { peak_bytes_ = std::max(peak_bytes_, peak_bytes); }
  std::uint64_t available_bytes() const { return available_(); }
  std::uint64_t job_bytes() const noexcept {
    return peak_bytes_ ? peak_bytes_ + peak_bytes_ / 4 : std::uint64_t{1} << 30;
  }
  /// Whether one more job may start beside the running ones. They may have just begun, so each counts as if its memory
  /// were not yet in use. One job may always run.
  bool admits(std::size_t running) const { return running == 0 || available_() / job_bytes() > running; }

 private:
  std::function<std::uint64_t()> available_;
  std::uint64_t peak_bytes_ = 0;
};

}  // namespace xtune::ipc
