// The device that runs programs: this machine, with the one accelerator that a program may see.
#pragma once

#include <memory>

#include "core/measure/device.hpp"

namespace xtune::process {

/// index: of the device that each program may see, as the driver numbers those that this process sees.
std::unique_ptr<measure::Device> make_device(int index);

/// The value of a variable such as CUDA_VISIBLE_DEVICES with which only the device of this index is visible; now: its
/// current value, nullptr if it is not set.
std::string visible_device(const char* now, int index);

}  // namespace xtune::process
