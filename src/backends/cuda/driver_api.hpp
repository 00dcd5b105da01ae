// CUDA's side of the table of driver calls.
#pragma once

#include "backends/cuda/driver.hpp"
#include "backends/gpu/driver_api.hpp"

namespace xtune::cuda {

/// Retains the device's primary context and makes it current on this thread. Throws Error(unavailable).
gpu::DriverApi open_driver_api(const Driver& driver, int index);
/// The calls for memory, queues and kernels alone, on whichever context the calling thread has; opens and closes none.
/// Every device is taken for one that may have clusters: one that has none refuses their launch.
gpu::DriverApi module_calls(const Driver& driver);

}  // namespace xtune::cuda
