// Arguments of a kernel that runs in this process: checked against what it takes, and laid out for it.
#pragma once

#include <span>
#include <vector>

#include "core/measure/device.hpp"

namespace xtune::host {

/// What a kernel says of its parameters: two arrays of `count`.
struct ArgumentTypes {
  int count;
  const unsigned* bytes;
  const bool* is_pointer;
};
/// Throws CandidateFailure(launch_failed) naming the first that does not fit.
void check_arguments(std::span<const measure::KernelArgument> arguments, const ArgumentTypes& types);

/// A kernel takes the addresses of its arguments; buffers' pointers need a place too.
class ArgumentAddresses {
 public:
  explicit ArgumentAddresses(std::span<const measure::KernelArgument> arguments);
  void* const* data() const noexcept { return addresses_.data(); }

 private:
  std::vector<measure::ScalarArgument> values_;
  std::vector<void*> addresses_;  ///< into values_, whose memory moves with it
};

}  // namespace xtune::host
