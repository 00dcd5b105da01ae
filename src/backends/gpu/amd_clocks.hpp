// The clock of an AMD GPU, by the amdgpu driver's files.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "core/measure/clock_lock.hpp"

namespace xtune::gpu {

/// For the device at a PCI address ("0000:c1:00.0"). The clock for 0 is that of the driver's level profile_standard;
/// any other must be one of the device's levels (pp_dpm_sclk). root: the directory that holds sys/. Throws
/// Error(unavailable) if the machine has no device there. Source: the Linux kernel's documentation of amdgpu,
/// power_dpm_force_performance_level and pp_dpm_sclk.
std::unique_ptr<measure::ClockLock> amd_clocks(const std::string& pci_address, const std::filesystem::path& root = "/");

}  // namespace xtune::gpu
