// The CPU as a device.
#pragma once

#include <memory>

#include "core/measure/device.hpp"

namespace xtune::host {

std::unique_ptr<measure::Device> make_device();

}  // namespace xtune::host
