// Device limits of all kernels that a configuration launches, with the resources that the compiler reported.
#pragma once

#include <optional>
#include <string>

#include "core/build/artifact.hpp"
#include "core/device/device_info.hpp"
#include "core/device/launch.hpp"

namespace xtune::build {

device::KernelNeeds needs_of(const ResourceUsage& usage);

/// The first limit that forbids one of the launches, as device::forbidden words it, with the step's name in front if it
/// has one. artifact: null before compiling.
std::optional<std::string> forbidden(const device::LaunchPlan& plan, const Artifact* artifact,
                                     const device::DeviceInfo& device);

/// Throws CandidateFailure(rejected) with it.
void reject_forbidden(const device::LaunchPlan& plan, const Artifact& artifact, const device::DeviceInfo& device);

}  // namespace xtune::build
