// CUDA's side of the table of driver calls.
#pragma once

#include "backends/cuda/driver.hpp"
#include "backends/gpu/driver_api.hpp"

namespace xtune::cuda {

/// Retains the device's primary context and makes it current on this thread. Throws Error(unavailable).
gpu::DriverApi open_driver_api(const Driver& driver, int index);

}  // namespace xtune::cuda
