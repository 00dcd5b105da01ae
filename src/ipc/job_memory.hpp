// How many compilers the memory of this machine carries at once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>

namespace xtune::ipc {

/// A job counts as a gibibyte until one has told its peak, then as a quarter more than the largest peak so far.
class JobMemory {
 public:
  /// available: bytes that are free now, asked for each decision.
  explicit JobMemory(std::function<std::uint64_t()> available) : available_(std::move(available)) {}
  void measured(std::uint64_t peak_bytes) { peak_bytes_ = std::max(peak_bytes_, peak_bytes); }
  std::uint64_t available_bytes() const { return available_(); }
  std::uint64_t job_bytes() const noexcept {
    return peak_bytes_ ? peak_bytes_ + peak_bytes_ / 4 : std::uint64_t{1} << 30;
  }
  /// One more beside those that run? They may have just begun, so each counts as if it had yet to take its memory. One
  /// job always may.
  bool admits(std::size_t running) const { return running == 0 || available_() / job_bytes() > running; }

 private:
  std::function<std::uint64_t()> available_;
  std::uint64_t peak_bytes_ = 0;
};

}  // namespace xtune::ipc
