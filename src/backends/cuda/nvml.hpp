// NVIDIA's management library, opened at run time: temperature, power, throttling, other processes.
#pragma once

#include <functional>
#include <string>

#include "core/measure/device_state.hpp"

namespace xtune::cuda {

/// Returns a function that reads the state of the device at a PCI address ("0000:18:00.0"). Empty if libnvidia-ml.so.1
/// or the device is not available; facts that a device or an older library does not report are unset. Single-threaded.
std::function<measure::DeviceState()> open_monitor(const std::string& pci_address);

}  // namespace xtune::cuda
