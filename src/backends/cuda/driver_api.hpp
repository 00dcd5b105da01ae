// CUDA's implementation of the table of driver calls, and launches in the application's contexts.
#pragma once

#include <functional>
#include <memory>

#include "backends/cuda/driver.hpp"
#include "backends/gpu/driver_api.hpp"
#include "backends/runtime.hpp"
#include "core/device/device_info.hpp"
#include "core/measure/device.hpp"

namespace xtune::cuda {

/// Retains the device's primary context and makes it current on this thread. Throws Error(unavailable).
gpu::DriverApi open_driver_api(const Driver& driver, int index);
/// Only the calls for memory, queues and kernels, on the calling thread's context; opens and closes none. Every device
/// is assumed to support clusters: one that does not refuses their launch.
gpu::DriverApi module_calls(const Driver& driver);
/// For fixing the clock of a device, which is not opened. Throws Error(unavailable).
std::unique_ptr<measure::ClockLock> open_clocks(int index);

/// query: returns the facts of a device by its index. timing_code: as of gpu::ContextApi. Throws Error(unavailable)
/// without a driver.
std::shared_ptr<backend::Runtime> make_runtime(std::function<device::DeviceInfo(int index)> query,
                                               std::function<build::Artifact(const device::DeviceInfo&)> timing_code);

}  // namespace xtune::cuda
