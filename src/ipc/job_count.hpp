// How many compilers run at once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

namespace xtune::ipc {

/// The maximum number of compilers at once, at least 1, from the first of these that is not empty: `given`, which is
/// the value of --jobs; XTUNE_JOBS; "auto".
///
///     "16"          a count
///     "0.5"         a fraction of the usable cores, at most 1, which contains a point
///     "0.9:32"      a fraction, but at most 32
///     "auto", "-1"  0.9 of the usable cores
///
/// If this process may use every core of the machine, and `sharing` - 1 others may as well, the usable cores are its
/// share of them. Throws Error(invalid_argument) that names the option or the variable.
std::size_t job_count(const std::string& given = {}, int sharing = 1);

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
