// What the amdgpu driver tells in the file system: temperature, power, memory errors, partition, processes.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "core/measure/device_state.hpp"

namespace xtune::gpu {

/// Asks for the state of the device at a PCI address ("0000:c1:00.0"). Empty where there is no such device; what a
/// device does not tell stays unset. No library and no rights are needed, unlike for amd-smi. root: where sys/ lies.
/// Sources: the Linux kernel's documentation of amdgpu (thermal control, RAS, compute partitions) and of hwmon.
std::function<measure::DeviceState()> open_amd_monitor(const std::string& pci_address,
                                                       const std::filesystem::path& root = "/");

}  // namespace xtune::gpu
