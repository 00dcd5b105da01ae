// The CUDA devices of this process and their facts.
#pragma once

#include "backends/backend.hpp"
#include "backends/cuda/driver.hpp"

namespace xtune::cuda {

/// Never throws.
backend::DeviceList list_devices();
/// The driver must be initialised. Throws Error(unavailable) when the device does not answer.
device::DeviceInfo query_device(const Driver& driver, int index);
/// Makes the driver ready. Throws Error(unavailable) with what to do.
void initialise(const Driver& driver);

}  // namespace xtune::cuda
