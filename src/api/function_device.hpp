// A function of the application in the place of a device's programs.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "core/device/device_info.hpp"
#include "core/measure/device.hpp"
#include "core/space/space.hpp"
#include "xtune/value.hpp"

namespace xtune {

/// Its programs call `timed` with their configuration and take the milliseconds that it returns; an exception is
/// CandidateFailure(launch_failed), except for Error(interrupted), which passes.
std::unique_ptr<measure::Device> make_function_device(device::DeviceInfo info, std::vector<space::Parameter> parameters,
                                                      std::function<double(const Bindings& config)> timed);

}  // namespace xtune
