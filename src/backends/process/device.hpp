// The device that runs programs: this machine, and of its accelerators the one that a program is to see.
#pragma once

#include <memory>

#include "core/measure/device.hpp"

namespace xtune::process {

/// index: of the device that each program is to see, as the driver counts those that this process sees.
std::unique_ptr<measure::Device> make_device(int index);

/// What a variable such as CUDA_VISIBLE_DEVICES must say for the device of this index alone to be seen; now: what it
/// says, nullptr: it is not set.
std::string visible_device(const char* now, int index);

}  // namespace xtune::process
