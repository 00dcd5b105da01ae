// Launches on the application's HIP devices.
#pragma once

#include <functional>
#include <memory>

#include "backends/runtime.hpp"

namespace xtune::hip {

/// timing_code: as of gpu::ContextApi. Throws Error(unavailable) without a driver.
std::shared_ptr<backend::Runtime> make_runtime(std::function<build::Artifact(const device::DeviceInfo&)> timing_code);

}  // namespace xtune::hip
