// Arguments of a kernel that runs in this process: checked against its parameters, and laid out for the call.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/measure/device.hpp"
#include "runtime/host/xtune_host_abi.h"

namespace xtune::host {

/// A kernel's parameter types: two arrays of `count`.
struct ArgumentTypes {
  int count;
  const unsigned* bytes;
  const bool* is_pointer;
};
/// Throws CandidateFailure(launch_failed) with the first argument that does not fit.
void check_arguments(std::span<const measure::KernelArgument> arguments, const ArgumentTypes& types);

/// The same of what a spec says, with the types that both name. Types that a kernel may read the same bytes as, such as
/// int for packed i8, or unsigned for the bits of f32, are taken.
void check_parameters(std::span<const measure::ArgumentType> arguments, const XtuneKernel& kernel);

/// Adds the memory of the buffers of all launches.
void add_buffers(const measure::RunOptions& options, std::vector<std::span<const std::byte>>& memory);

/// The addresses of arguments, which a kernel takes; pointers to buffers are stored here for this.
class ArgumentAddresses {
 public:
  explicit ArgumentAddresses(std::span<const measure::KernelArgument> arguments);
  void* const* data() const noexcept { return addresses_.data(); }

 private:
  std::vector<measure::KernelArgument> values_;  ///< scalars, also for pointers, and tensor maps
  std::vector<void*> addresses_;                 ///< into values_, whose memory moves together with this object
};

}  // namespace xtune::host
