// The limits of each step, against the resources of the kernel that it launches.
#include "core/build/step_limits.hpp"

#include "xtune/outcome.hpp"

namespace xtune::build {

device::KernelNeeds needs_of(const ResourceUsage& usage) {
  return {usage.registers, usage.max_threads_per_block, usage.static_shared_bytes.value_or(0)};
}

std::optional<std::string> forbidden(const device::LaunchPlan& plan, const Artifact* artifact,
                                     const device::DeviceInfo& device) {
  for (const device::Step& step : plan.steps) {
    const device::KernelNeeds needs =
        artifact ? needs_of(entry_of(*artifact, step.kernel).usage) : device::KernelNeeds();
    if (const auto reason = device::forbidden(step.launch, needs, device)) return step.named(*reason);
  }
  return std::nullopt;
}

void reject_forbidden(const device::LaunchPlan& plan, const Artifact& artifact, const device::DeviceInfo& device) {
  if (const auto reason = forbidden(plan, &artifact, device)) throw CandidateFailure(Outcome::rejected, *reason);
}

}  // namespace xtune::build
