// The CUDA entry points that HIP's NVIDIA headers call, passed on to the libraries opened at run time, so that a
// program with this backend starts on a node without NVIDIA's libraries.
//
// Compiled with hidden visibility: these names must not replace those of the driver for other code in the process.
#include <cuda.h>

#include <exception>

#include "backends/cuda/driver.hpp"

namespace {

const xtune::cuda::Driver* driver_or_null() noexcept {
  try {
    return &xtune::cuda::driver();
  } catch (const std::exception&) {
    return nullptr;
  }
}

}  // namespace

#pragma GCC visibility push(hidden)
extern "C" {

// The tables have xtune's own types for the same calls (cuda/abi.hpp).
#define FORWARD_CUDA(name, parameters, arguments)                                                     \
  CUresult CUDAAPI name parameters {                                                                  \
    const auto* table = driver_or_null();                                                             \
    return table ? reinterpret_cast<decltype(&::name)>(table->name) arguments : CUDA_ERROR_NO_DEVICE; \
  }

FORWARD_CUDA(cuInit, (unsigned flags), (flags))
FORWARD_CUDA(cuDeviceGetName, (char* name, int size, CUdevice device), (name, size, device))
FORWARD_CUDA(cuDeviceTotalMem, (std::size_t * bytes, CUdevice device), (bytes, device))
FORWARD_CUDA(cuModuleLoadData, (CUmodule * handle, const void* image), (handle, image))
FORWARD_CUDA(cuModuleUnload, (CUmodule handle), (handle))
FORWARD_CUDA(cuModuleGetFunction, (CUfunction * function, CUmodule handle, const char* name), (function, handle, name))
FORWARD_CUDA(cuModuleGetGlobal, (CUdeviceptr * address, std::size_t* bytes, CUmodule handle, const char* name),
             (address, bytes, handle, name))
FORWARD_CUDA(cuFuncGetAttribute, (int* value, CUfunction_attribute which, CUfunction function),
             (value, which, function))
FORWARD_CUDA(cuLaunchKernel,
             (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
              unsigned block_y, unsigned block_z, unsigned shared_bytes, CUstream stream, void** parameters,
              void** extra),
             (function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, stream, parameters, extra))

}  // extern "C"
#pragma GCC visibility pop
