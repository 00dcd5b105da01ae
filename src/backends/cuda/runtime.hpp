// Launches in the application's CUDA contexts.
#pragma once

#include <functional>
#include <memory>

#include "backends/runtime.hpp"
#include "core/device/device_info.hpp"

namespace xtune::cuda {

/// query: returns the facts of a device by its index. timing_code: as of gpu::ContextApi. Throws Error(unavailable)
/// without a driver.
std::shared_ptr<backend::Runtime> make_runtime(std::function<device::DeviceInfo(int index)> query,
                                               std::function<build::Artifact(const device::DeviceInfo&)> timing_code);

}  // namespace xtune::cuda
