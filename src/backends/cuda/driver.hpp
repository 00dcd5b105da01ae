// The CUDA driver, opened at run time.
#pragma once

#include <cuda.h>

#include <string>

#include "base/dynamic_library.hpp"

// The names are cuda.h's, so that its macros (cuMemAlloc is cuMemAlloc_v2) name the same version here as in a linked
// program.
#define XTUNE_CUDA_DRIVER_CALLS(CALL) \
  CALL(cuInit)                        \
  CALL(cuDriverGetVersion)            \
  CALL(cuGetErrorName)                \
  CALL(cuGetErrorString)              \
  CALL(cuDeviceGetCount)              \
  CALL(cuDeviceGet)                   \
  CALL(cuDeviceGetName)               \
  CALL(cuDeviceGetAttribute)          \
  CALL(cuDeviceTotalMem)              \
  CALL(cuDeviceGetPCIBusId)           \
  CALL(cuDevicePrimaryCtxRetain)      \
  CALL(cuDevicePrimaryCtxRelease)     \
  CALL(cuCtxSetCurrent)               \
  CALL(cuCtxGetCurrent)               \
  CALL(cuCtxGetDevice)                \
  CALL(cuCtxSynchronize)              \
  CALL(cuPointerGetAttribute)         \
  CALL(cuMemGetAddressRange)          \
  CALL(cuStreamIsCapturing)           \
  CALL(cuMemAlloc)                    \
  CALL(cuMemFree)                     \
  CALL(cuMemHostAlloc)                \
  CALL(cuMemHostGetDevicePointer)     \
  CALL(cuMemFreeHost)                 \
  CALL(cuMemcpyHtoD)                  \
  CALL(cuMemcpyDtoH)                  \
  CALL(cuMemsetD8Async)               \
  CALL(cuStreamCreate)                \
  CALL(cuStreamDestroy)               \
  CALL(cuStreamSynchronize)           \
  CALL(cuEventCreate)                 \
  CALL(cuEventDestroy)                \
  CALL(cuEventRecord)                 \
  CALL(cuEventSynchronize)            \
  CALL(cuModuleLoadData)              \
  CALL(cuModuleUnload)                \
  CALL(cuModuleGetFunction)           \
  CALL(cuFuncGetAttribute)            \
  CALL(cuFuncSetAttribute)            \
  CALL(cuLaunchKernel)

namespace xtune::cuda {

/// The driver's entry points; one table for the process, never unloaded.
struct Driver {
  DynamicLibrary library;
#define XTUNE_DECLARE(name) decltype(&::name) name = nullptr;
  XTUNE_CUDA_DRIVER_CALLS(XTUNE_DECLARE)
#undef XTUNE_DECLARE
  // Absent from some drivers or headers; nullptr then, but for the first, which only changed its name.
  CUresult(CUDAAPI* event_elapsed_time)(float*, CUevent, CUevent) = nullptr;
  CUresult(CUDAAPI* device_get_uuid)(CUuuid*, CUdevice) = nullptr;
  CUresult(CUDAAPI* context_id)(CUcontext, unsigned long long*) = nullptr;
  CUresult(CUDAAPI* get_parameter_info)(CUfunction, std::size_t, std::size_t*, std::size_t*) = nullptr;
#if CUDA_VERSION >= 11080
  decltype(&::cuLaunchKernelEx) launch_kernel_ex = nullptr;
#endif
};

/// Thread-safe. Throws Error(unavailable): "libcuda.so.1 not found: no NVIDIA driver on this node", or a driver too
/// old.
const Driver& driver();

/// "CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected"
std::string describe(const Driver& driver, CUresult status);

}  // namespace xtune::cuda
