// The limit of a device that forbids a launch, before and after compiling.
#include "core/device/launch_limits.hpp"
#include "core/resolve/resolve_state.hpp"

namespace xtune::resolve {

std::optional<std::string> CandidateResolver::limit_violation(const device::Launch& launch,
                                                              const build::ResourceUsage* usage) const {
  device::KernelNeeds needs;
  if (usage) needs = {usage->registers, usage->max_threads_per_block, usage->static_shared_bytes.value_or(0)};
  return device::forbidden(launch, needs, state_->device);
}

}  // namespace xtune::resolve
