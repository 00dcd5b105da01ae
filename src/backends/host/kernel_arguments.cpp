// Compares and copies arguments.
#include "backends/host/kernel_arguments.hpp"

#include <fmt/core.h>

#include <cstring>

namespace xtune::host {

void check_arguments(std::span<const measure::KernelArgument> arguments, const ArgumentTypes& types) {
  const auto fail = [](const std::string& why) { throw build::CandidateFailure(Outcome::launch_failed, why); };
  if (arguments.size() != static_cast<std::size_t>(types.count))
    fail(fmt::format("the kernel takes {} arguments and was given {}", types.count, arguments.size()));
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const measure::ScalarArgument* scalar = std::get_if<measure::ScalarArgument>(&arguments[i]);
    if (types.is_pointer[i] && scalar)
      fail(fmt::format("argument {} of the kernel is a pointer and was given a scalar of {} bytes", i + 1,
                       scalar->size));
    if (!types.is_pointer[i] && !scalar)
      fail(fmt::format("argument {} of the kernel is a value of {} bytes and was given a buffer", i + 1,
                       types.bytes[i]));
    if (scalar && scalar->size != types.bytes[i])
      fail(fmt::format("argument {} of the kernel is {} bytes large and was given a scalar of {}", i + 1,
                       types.bytes[i], scalar->size));
  }
}

ArgumentAddresses::ArgumentAddresses(std::span<const measure::KernelArgument> arguments) : values_(arguments.size()) {
  for (std::size_t i = 0; i < values_.size(); ++i) {
    if (measure::Buffer* const* buffer = std::get_if<measure::Buffer*>(&arguments[i])) {
      void* const address = (*buffer)->address();
      std::memcpy(values_[i].bytes.data(), &address, sizeof address);
    } else {
      values_[i] = std::get<measure::ScalarArgument>(arguments[i]);
    }
    addresses_.push_back(values_[i].bytes.data());
  }
}

}  // namespace xtune::host
