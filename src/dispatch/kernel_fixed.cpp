// A kernel for exactly one problem: loads the binary that was built for it, and nothing else.
#include <fmt/core.h>

#include "core/space/bindings_text.hpp"
#include "dispatch/kernel_state.hpp"
#include "xtune/outcome.hpp"

namespace xtune::detail {

Bindings KernelState::without_sizes() const {
  Bindings sizes;
  if (parts_.fixed)
    for (const std::string& name : plan_.bind({}).missing) sizes.emplace(name, parts_.fixed->problem.at(name));
  return sizes;
}

void KernelState::require_fixed(const Bindings& problem) const {
  if (problem != parts_.fixed->problem)
    throw Error(ErrorKind::invalid_argument,
                fmt::format("{}: this kernel is the winner for {} and launches only for that, not for {}; xtune::load "
                            "makes one for any problem",
                            name(), space::shown_text(parts_.fixed->problem), space::shown_text(problem)));
}

dispatch::Prepared KernelState::make_fixed(const dispatch::Key& key, const Bindings& problem) {
  require_fixed(problem);
  const device::DeviceInfo device = runtime_.device();
  const build::Artifact& artifact = parts_.fixed->build.artifact;
  try {
    return load(key, problem, device, parts_.fixed->build);
  } catch (const build::CandidateFailure& failure) {
    throw Error(ErrorKind::unavailable,
                fmt::format("{}: the binary was compiled for {}, and this device is {} ({}): {}", name(), artifact.arch,
                            device.name, device.arch, failure.what()));
  }
}

}  // namespace xtune::detail
