// The CUDA devices of this process and their facts.
#pragma once

#include "backends/backend.hpp"
#include "backends/cuda/driver.hpp"

namespace xtune::cuda {

/// Never throws.
backend::DeviceList list_devices();
/// The driver must be initialised. Throws Error(unavailable) if the device does not respond.
device::DeviceInfo query_device(const Driver& driver, int index);
/// Initialises the driver. Throws Error(unavailable) with advice.
void initialise(const Driver& driver);

}  // namespace xtune::cuda
