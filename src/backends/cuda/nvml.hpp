// NVIDIA's management library, opened at run time: temperature, power, throttling, other processes.
#pragma once

#include <functional>
#include <string>

#include "core/measure/device_state.hpp"

namespace xtune::cuda {

/// Asks for the state of the device at a PCI address ("0000:18:00.0"). Empty where libnvidia-ml.so.1 or the device is
/// not to be had; what a device or an older library does not tell stays unset. Single-threaded.
std::function<measure::DeviceState()> open_monitor(const std::string& pci_address);

}  // namespace xtune::cuda
