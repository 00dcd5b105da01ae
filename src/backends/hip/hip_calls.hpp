// HIP: its calls, found at run time, its devices and their facts, the table of driver calls, and launches on the
// application's devices.
#pragma once

#include <functional>
#include <memory>

#include "backends/backend.hpp"
#include "backends/gpu/driver_api.hpp"
#include "backends/runtime.hpp"

#if defined(__HIP_PLATFORM_NVIDIA__)
#include "backends/hip/nvidia_compat.hpp"
#endif
#include <string>

#include "backends/gpu/hip_headers.hpp"
#include "system/dynamic_library.hpp"

// CALL(name, arguments): calls that return hipError_t. The arguments are written out, because the headers overload some
// names.
#define XTUNE_HIP_CALLS(CALL)                                                                                       \
  CALL(hipInit, (unsigned))                                                                                         \
  CALL(hipDriverGetVersion, (int*))                                                                                 \
  CALL(hipGetDeviceCount, (int*))                                                                                   \
  CALL(hipSetDevice, (int))                                                                                         \
  CALL(hipDeviceGetName, (char*, int, hipDevice_t))                                                                 \
  CALL(hipDeviceGetAttribute, (int*, hipDeviceAttribute_t, int))                                                    \
  CALL(hipDeviceTotalMem, (std::size_t*, hipDevice_t))                                                              \
  CALL(hipDeviceGetPCIBusId, (char*, int, int))                                                                     \
  CALL(hipDeviceSynchronize, ())                                                                                    \
  CALL(hipMalloc, (void**, std::size_t))                                                                            \
  CALL(hipFree, (void*))                                                                                            \
  CALL(hipHostMalloc, (void**, std::size_t, unsigned))                                                              \
  CALL(hipHostGetDevicePointer, (void**, void*, unsigned))                                                          \
  CALL(hipHostFree, (void*))                                                                                        \
  CALL(hipMemcpy, (void*, const void*, std::size_t, hipMemcpyKind))                                                 \
  CALL(hipMemsetAsync, (void*, int, std::size_t, hipStream_t))                                                      \
  CALL(hipStreamCreateWithFlags, (hipStream_t*, unsigned))                                                          \
  CALL(hipStreamDestroy, (hipStream_t))                                                                             \
  CALL(hipStreamSynchronize, (hipStream_t))                                                                         \
  CALL(hipEventCreateWithFlags, (hipEvent_t*, unsigned))                                                            \
  CALL(hipEventDestroy, (hipEvent_t))                                                                               \
  CALL(hipEventRecord, (hipEvent_t, hipStream_t))                                                                   \
  CALL(hipEventSynchronize, (hipEvent_t))                                                                           \
  CALL(hipEventElapsedTime, (float*, hipEvent_t, hipEvent_t))                                                       \
  CALL(hipModuleLoadData, (hipModule_t*, const void*))                                                              \
  CALL(hipModuleUnload, (hipModule_t))                                                                              \
  CALL(hipModuleGetFunction, (hipFunction_t*, hipModule_t, const char*))                                            \
  CALL(hipModuleGetGlobal, (hipDeviceptr_t*, std::size_t*, hipModule_t, const char*))                               \
  CALL(hipFuncGetAttribute, (int*, hipFunction_attribute, hipFunction_t))                                           \
  CALL(hipModuleLaunchKernel, (hipFunction_t, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, \
                               hipStream_t, void**, void**))

/// Calls that an old runtime may lack. On the NVIDIA platform CUDA's calls take their place.
#define XTUNE_HIP_OPTIONAL_CALLS(CALL)                                                                             \
  CALL(hipStreamBeginCapture, (hipStream_t, hipStreamCaptureMode))                                                 \
  CALL(hipStreamEndCapture, (hipStream_t, hipGraph_t*))                                                            \
  CALL(hipGraphInstantiate, (hipGraphExec_t*, hipGraph_t, hipGraphNode_t*, char*, std::size_t))                    \
  CALL(hipGraphLaunch, (hipGraphExec_t, hipStream_t))                                                              \
  CALL(hipGraphExecDestroy, (hipGraphExec_t))                                                                      \
  CALL(hipGraphDestroy, (hipGraph_t))                                                                              \
  CALL(hipModuleOccupancyMaxActiveBlocksPerMultiprocessor, (int*, hipFunction_t, int, std::size_t))                \
  CALL(hipModuleLaunchCooperativeKernel,                                                                           \
       (hipFunction_t, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, hipStream_t, void**)) \
  CALL(hipGetDevice, (int*))                                                                                       \
  CALL(hipMemGetAddressRange, (hipDeviceptr_t*, std::size_t*, hipDeviceptr_t))                                     \
  CALL(hipStreamGetCaptureInfo, (hipStream_t, hipStreamCaptureStatus*, unsigned long long*))                       \
  CALL(hipThreadExchangeStreamCaptureMode, (hipStreamCaptureMode*))                                                \
  CALL(hipMallocAsync, (void**, std::size_t, hipStream_t))                                                         \
  CALL(hipPeekAtLastError, ())                                                                                     \
  CALL(hipGetLastError, ())

namespace xtune::hip {

/// One table for the process, never unloaded.
struct HipCalls {
  system::DynamicLibrary library;  ///< empty on the NVIDIA platform
#define XTUNE_DECLARE(name, arguments) hipError_t(*name) arguments = nullptr;
  XTUNE_HIP_CALLS(XTUNE_DECLARE)
#if !defined(__HIP_PLATFORM_NVIDIA__)
  XTUNE_HIP_OPTIONAL_CALLS(XTUNE_DECLARE)  // nullptr if the runtime has none
#endif
#undef XTUNE_DECLARE
  /// Of xtune's emulator: what its messages are to call memory; nullptr on GPUs.
  hipError_t (*xtune_name_memory)(const void* address, std::size_t bytes, const char* name) = nullptr;
  const char* (*hipGetErrorName)(hipError_t) = nullptr;
  const char* (*hipGetErrorString)(hipError_t) = nullptr;
};

/// Of the library that XTUNE_HIP_LIBRARY names, else of ROCm's. Thread-safe. Throws Error(unavailable): "libamdhip64.so
/// not found: no ROCm on this node".
const HipCalls& hip_calls();

/// "hipErrorIllegalAddress: an illegal memory access was encountered"
std::string describe(const HipCalls& calls, hipError_t status);

/// Never throws.
backend::DeviceList list_devices();
/// Throws Error(unavailable) if the device does not respond.
device::DeviceInfo query_device(const HipCalls& calls, int index);
/// Initialises the driver and counts devices. Throws Error(unavailable) with advice.
int initialise(const HipCalls& calls);

/// "gfx90a" for "gfx90a:sramecc+:xnack-".
std::string strip_target_features(const std::string& arch);

/// Makes the device current on this thread. Throws Error(unavailable).
gpu::DriverApi open_driver_api(const HipCalls& calls, int index);
/// Only the calls for memory, queues and kernels, on the calling thread's device; opens and closes none.
gpu::DriverApi module_calls(const HipCalls& calls);

/// timing_code: as of gpu::ContextApi. Throws Error(unavailable) without a driver.
std::shared_ptr<backend::Runtime> make_runtime(std::function<build::Artifact(const device::DeviceInfo&)> timing_code);

}  // namespace xtune::hip
