// The CUDA driver, opened at run time, and its devices.
#pragma once

#include <string>

#include "backends/backend.hpp"
#include "backends/cuda/abi.hpp"
#include "system/dynamic_library.hpp"

namespace xtune::cuda {

/// The driver's entry points; one table for the process, never unloaded.
struct Driver {
  system::DynamicLibrary library;
#define XTUNE_DECLARE(name, parameters) CUresult(*name) parameters = nullptr;
  XTUNE_CUDA_DRIVER_CALLS(XTUNE_DECLARE)
  XTUNE_CUDA_OPTIONAL_CALLS(XTUNE_DECLARE)  // nullptr if the driver has none; never for the first of them
#undef XTUNE_DECLARE
};

/// Thread-safe. Throws Error(unavailable): "libcuda.so.1 not found: no NVIDIA driver on this node", or a driver too
/// old.
const Driver& driver();

/// "CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected"
std::string describe(const Driver& driver, CUresult status);

/// Never throws.
backend::DeviceList list_devices();
/// The driver must be initialised. Throws Error(unavailable) if the device does not respond.
device::DeviceInfo query_device(const Driver& driver, int index);
/// Initialises the driver. Throws Error(unavailable) with advice.
void initialise(const Driver& driver);

}  // namespace xtune::cuda
