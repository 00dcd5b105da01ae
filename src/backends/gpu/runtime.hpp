// Launches in the application's own context, over the table of driver calls.
#pragma once

#include <memory>

#include "backends/gpu/driver_api.hpp"
#include "backends/runtime.hpp"

namespace xtune::gpu {

/// Calls of a driver in addition to the table; plain functions, since launches are time-critical.
struct ContextApi {
  std::uintptr_t (*current)() = nullptr;  ///< 0: none
  Status (*adopt)(std::uintptr_t context) = nullptr;
  Status (*launch)(void* function, const device::Launch& launch, void* stream, void** parameters) = nullptr;
  Status (*is_capturing)(void* stream, bool* capturing) = nullptr;
  std::optional<std::size_t> (*accessible_bytes)(const void* address) = nullptr;
  /// Whether it is memory of the driver's devices; sets its context unless that does not matter.
  bool (*owns)(const void* address, std::uintptr_t* context) = nullptr;
  Status (*synchronize)() = nullptr;           ///< waits for all work of the current context
  std::function<device::DeviceInfo()> device;  ///< of the current context; may throw Error(unavailable)
  /// As DriverApi::timing_code, for a device; optional.
  std::function<build::Artifact(const device::DeviceInfo&)> timing_code;
  std::string advice;  ///< "call cudaSetDevice or cuCtxSetCurrent first"
};

/// From `api` it uses the calls for modules, functions, clusters, waiting and copying, on any thread that launches.
std::shared_ptr<backend::Runtime> make_runtime(DriverApi api, ContextApi context);

}  // namespace xtune::gpu
