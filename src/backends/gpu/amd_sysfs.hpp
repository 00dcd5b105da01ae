// An AMD GPU by the amdgpu driver's files: temperature, power, energy, memory errors, processes, how it is divided, and
// its clock.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/measure/device.hpp"

namespace xtune::gpu {

/// A line of pp_dpm_sclk: "1: 1700Mhz *".
struct ClockLevel {
  std::string number;
  double mhz = 0;
  bool current = false;
};
/// The levels of the compute units' clock in that file; none if it cannot be read.
std::vector<ClockLevel> clock_levels(const std::filesystem::path& file);

/// Returns a function that reads the state of the device at a PCI address ("0000:c1:00.0"). Empty if there is no such
/// device; facts that a device does not report are unset. Needs no library and no privileges, unlike amd-smi. root: the
/// directory that holds sys/. Sources: the Linux kernel's documentation of amdgpu (thermal control, RAS, compute
/// partitions) and of hwmon.
std::function<measure::DeviceState()> open_amd_monitor(const std::string& pci_address,
                                                       const std::filesystem::path& root = "/");

/// How the device at a PCI address is divided: "CPX, NPS4". Empty: it is whole (SPX, NPS1), or the driver does not say.
/// Source: the Linux kernel's documentation of amdgpu, current_compute_partition and current_memory_partition.
std::string amd_partition(const std::string& pci_address, const std::filesystem::path& root = "/");

/// For the device at a PCI address ("0000:c1:00.0"). The clock for 0 is that of the driver's level profile_standard;
/// any other must be one of the device's levels (pp_dpm_sclk). root: the directory that holds sys/. Throws
/// Error(unavailable) if the machine has no device there. Source: the Linux kernel's documentation of amdgpu,
/// power_dpm_force_performance_level and pp_dpm_sclk.
std::unique_ptr<measure::ClockLock> amd_clocks(const std::string& pci_address, const std::filesystem::path& root = "/");

}  // namespace xtune::gpu
