// The GPU in whose place the emulator is: one of the architectures that it executes, with the facts of a product.
#pragma once

#include <string>

#include "core/device/device_model.hpp"

namespace xtune::emulator {

/// The facts of the product that represents the architecture in XTUNE_EMULATED_ARCH (known_devices.def), by default
/// gfx942. Its memory is this machine's. Throws Error(invalid_argument) for another value of the variable, and
/// Error(unavailable) where no LLVM can decode the architecture's instructions.
const device::DeviceModel& emulated_gpu();

/// The architecture of its code: "gfx942".
std::string emulated_code_arch();

}  // namespace xtune::emulator
