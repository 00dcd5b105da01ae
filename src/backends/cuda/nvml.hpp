// NVIDIA's management library, opened at run time: temperature, power, throttling, other processes.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "core/measure/device.hpp"

namespace xtune::cuda {

/// Returns a function that reads the state of the device at a PCI address ("0000:18:00.0"). Empty if libnvidia-ml.so.1
/// or the device is not available; facts that a device or an older library does not report are unset. Single-threaded.
std::function<measure::DeviceState()> open_monitor(const std::string& pci_address);

/// The clock of the device at a PCI address; for 0 its default application clock. NVML cannot read whether somebody has
/// fixed the clock already, and restoring ends that, too. library: tests name another one. Throws Error(unavailable) if
/// library or device is not available.
std::unique_ptr<measure::ClockLock> nvml_clocks(const std::string& pci_address,
                                                const std::string& library = "libnvidia-ml.so.1");

}  // namespace xtune::cuda
