// The CUDA driver, opened at run time: its devices, the table of driver calls, launches in the application's contexts,
// and NVIDIA's management library (temperature, power, throttling, other processes).
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "backends/backend.hpp"
#include "backends/cuda/abi.hpp"
#include "backends/gpu/driver_api.hpp"
#include "backends/runtime.hpp"
#include "core/device/device_info.hpp"
#include "core/measure/device.hpp"
#include "system/dynamic_library.hpp"

namespace xtune::cuda {

/// The driver's entry points; one table for the process, never unloaded.
struct Driver {
  system::DynamicLibrary library;
#define XTUNE_DECLARE(name, parameters, ...) CUresult(*name) parameters = nullptr;
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

/// Retains the device's primary context and makes it current on this thread. Throws Error(unavailable).
gpu::DriverApi open_driver_api(const Driver& driver, int index);
/// Only the calls for memory, queues and kernels, on the calling thread's context; opens and closes none. Every device
/// is assumed to support clusters and cooperative launches: one that does not refuses them.
gpu::DriverApi module_calls(const Driver& driver);
/// For fixing the clock of a device, which is not opened. Throws Error(unavailable).
std::unique_ptr<measure::ClockLock> open_clocks(int index);

/// query: returns the facts of a device by its index. timing_code: as of gpu::ContextApi. Throws Error(unavailable)
/// without a driver.
std::shared_ptr<backend::Runtime> make_runtime(std::function<device::DeviceInfo(int index)> query,
                                               std::function<build::Artifact(const device::DeviceInfo&)> timing_code);

/// Returns a function that reads the state of the device at a PCI address ("0000:18:00.0"). Empty if libnvidia-ml.so.1
/// or the device is not available; facts that a device or an older library does not report are unset. Single-threaded.
/// uuid: of a part of a MIG device ("MIG-..."), whose processes count; its other facts are those of the whole. library:
/// tests name another one.
std::function<measure::DeviceState()> open_monitor(const std::string& pci_address, const std::string& uuid = "",
                                                   const std::string& library = "libnvidia-ml.so.1");

/// " (MPS 50 %)" for a client of MPS with a share of the threads, which CUDA_MPS_ACTIVE_THREAD_PERCENTAGE sets; empty
/// without MPS, or for the whole. Source: NVIDIA, Multi-Process Service.
std::string mps_share();

/// The clock of the device at a PCI address; for 0 its default application clock. NVML cannot read whether somebody has
/// fixed the clock already, and restoring ends that, too. library: tests name another one. Throws Error(unavailable) if
/// library or device is not available.
std::unique_ptr<measure::ClockLock> nvml_clocks(const std::string& pci_address,
                                                const std::string& library = "libnvidia-ml.so.1");

}  // namespace xtune::cuda
