// HIP's implementation of the table of driver calls.
#pragma once

#include "backends/gpu/driver_api.hpp"
#include "backends/hip/hip_calls.hpp"

namespace xtune::hip {

/// Makes the device current on this thread. Throws Error(unavailable).
gpu::DriverApi open_driver_api(const HipCalls& calls, int index);
/// Only the calls for memory, queues and kernels, on the calling thread's device; opens and closes none.
gpu::DriverApi module_calls(const HipCalls& calls);

}  // namespace xtune::hip
