// The limit of a device that forbids a launch, before and after compiling.
#include "core/build/step_limits.hpp"
#include "core/resolve/resolve_state.hpp"

namespace xtune::resolve {

std::optional<std::string> CandidateResolver::limit_violation(const device::LaunchPlan& launch,
                                                              const build::Artifact* artifact) const {
  return build::forbidden(launch, artifact, state_->device);
}

}  // namespace xtune::resolve
