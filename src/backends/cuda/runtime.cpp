// The driver's calls for the current context, pointers and captures.
#include "backends/gpu/runtime.hpp"

#include <fmt/core.h>

#include <map>
#include <mutex>

#include "backends/cuda/driver.hpp"
#include "backends/cuda/driver_api.hpp"
#include "xtune/error.hpp"

namespace xtune::cuda {
namespace {

using gpu::Status;

/// A context that is created after another was destroyed (cudaDeviceReset) may get its address, without its modules.
/// Bits that no user-space address has on x86-64, AArch64 and POWER distinguish them, by the driver's number of the
/// context (CUDA 12).
constexpr int address_bits = 48;

/// 0: the context was destroyed.
std::uintptr_t name_of(CUcontext context) {
  const auto address = reinterpret_cast<std::uintptr_t>(context);
  unsigned long long id = 0;
  if (!driver().context_id) return address;
  return driver().context_id(context, &id) == CUDA_SUCCESS ? address ^ (static_cast<std::uintptr_t>(id) << address_bits)
                                                           : 0;
}

std::uintptr_t current() {
  CUcontext context = nullptr;
  return driver().cuCtxGetCurrent(&context) == CUDA_SUCCESS && context ? name_of(context) : 0;
}

Status adopt(std::uintptr_t context) {
  constexpr std::uintptr_t mask = (std::uintptr_t{1} << address_bits) - 1;
  return driver().cuCtxSetCurrent(reinterpret_cast<CUcontext>(driver().context_id ? context & mask : context));
}

Status launch(void* function, const device::Launch& l, void* stream, void** parameters) {
  return driver().cuLaunchKernel(function, l.grid[0], l.grid[1], l.grid[2], l.block[0], l.block[1], l.block[2],
                                 l.shared_bytes, stream, parameters, nullptr);
}

Status is_capturing(void* stream, bool* capturing) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  const CUresult result = driver().cuStreamIsCapturing(stream, &status);
  *capturing = status != CU_STREAM_CAPTURE_STATUS_NONE;
  return result;
}

/// Whether a kernel may access memory that CUDA did not allocate (HMM, ATS).
bool reaches_all_memory() {
  CUdevice device = 0;
  int reaches = 0;
  return driver().cuCtxGetDevice(&device) != CUDA_SUCCESS ||
         driver().cuDeviceGetAttribute(&reaches, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS, device) != CUDA_SUCCESS ||
         reaches != 0;
}

std::optional<std::size_t> accessible_bytes(const void* address) {
  const auto at = reinterpret_cast<CUdeviceptr>(address);
  unsigned type = 0;
  const CUresult status = driver().cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, at);
  if (status == CUDA_ERROR_INVALID_VALUE) {  // the status for an address that is not CUDA's
    if (address && reaches_all_memory()) return std::nullopt;
    return 0;
  }
  CUdeviceptr base = 0;
  std::size_t size = 0;
  if (status != CUDA_SUCCESS || driver().cuMemGetAddressRange_v2(&base, &size, at) != CUDA_SUCCESS) return std::nullopt;
  return size - static_cast<std::size_t>(at - base);
}

/// Of the device that has the memory; kept until the process ends.
CUcontext primary_context_of(CUdeviceptr address) {
  static std::mutex mutex;
  static std::map<int, CUcontext> kept;
  int ordinal = 0;
  if (driver().cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address) != CUDA_SUCCESS)
    return nullptr;
  const std::lock_guard lock(mutex);
  CUcontext& context = kept[ordinal];
  CUdevice device = 0;
  if (!context && driver().cuDeviceGet(&device, ordinal) == CUDA_SUCCESS &&
      driver().cuDevicePrimaryCtxRetain(&context, device) != CUDA_SUCCESS)
    context = nullptr;
  return context;
}

bool owns(const void* address, std::uintptr_t* context) {
  const auto at = reinterpret_cast<CUdeviceptr>(address);
  unsigned type = 0;
  if (driver().cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, at) != CUDA_SUCCESS ||
      type != CU_MEMORYTYPE_DEVICE)
    return false;
  CUcontext own = nullptr;
  if (driver().cuPointerGetAttribute(&own, CU_POINTER_ATTRIBUTE_CONTEXT, at) != CUDA_SUCCESS) own = nullptr;
  // Memory of a pool belongs to no context, but every context of its device reaches it.
  if (!own && *context == 0) own = primary_context_of(at);
  if (own) *context = name_of(own);
  return true;
}

Status synchronize() { return driver().cuCtxSynchronize(); }

}  // namespace

std::shared_ptr<backend::Runtime> make_runtime(std::function<device::DeviceInfo(int)> query,
                                               std::function<build::Artifact(const device::DeviceInfo&)> timing_code) {
  const Driver& calls = driver();
  initialise(calls);
  gpu::ContextApi context;
  context.current = current;
  context.adopt = adopt;
  context.launch = launch;
  context.is_capturing = is_capturing;
  context.accessible_bytes = accessible_bytes;
  context.owns = owns;
  context.synchronize = synchronize;
  context.advice = "call cudaSetDevice and cudaFree(0), or cuCtxSetCurrent, before the first launch";
  context.device = [query = std::move(query)] {
    CUdevice own = 0, other = 0;
    int count = 0;
    driver().cuDeviceGetCount(&count);
    if (driver().cuCtxGetDevice(&own) == CUDA_SUCCESS)
      for (int index = 0; index < count; ++index)
        if (driver().cuDeviceGet(&other, index) == CUDA_SUCCESS && other == own) return query(index);
    throw Error(ErrorKind::unavailable, "the device of the current CUDA context is unknown");
  };
  context.timing_code = std::move(timing_code);
  return gpu::make_runtime(module_calls(calls), std::move(context));
}

}  // namespace xtune::cuda
