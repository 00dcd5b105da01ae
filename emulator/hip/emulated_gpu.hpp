// The GPUs in whose place the emulator is: architectures that it executes, with the facts of products.
#pragma once

#include <string>
#include <vector>

#include "core/device/device_info.hpp"

namespace xtune::emulator {

/// One for each architecture in XTUNE_EMULATED_ARCH ("gfx942", "gfx90a,gfx1100"), by default a gfx942, with the facts
/// of the product that represents it (known_devices.def). Their memory is this machine's. Throws
/// Error(invalid_argument) for another value of the variable, and Error(unavailable) where no LLVM can decode an
/// architecture's instructions.
const std::vector<device::DeviceModel>& emulated_gpus();

/// The one that hipSetDevice has chosen on this thread, at first the first one. Throws as above.
const device::DeviceModel& current_gpu();
/// Returns whether there is one with this index.
bool choose_gpu(int index);
int current_gpu_index() noexcept;

}  // namespace xtune::emulator
