// On AMD the current device represents its context; on NVIDIA HIP's handles are CUDA's, and so are the calls.
#include "backends/gpu/runtime.hpp"

#include "backends/hip/hip_calls.hpp"
#include "xtune/error.hpp"

#if defined(__HIP_PLATFORM_NVIDIA__)
#include "backends/cuda/driver_api.hpp"
#endif

namespace xtune::hip {

#if defined(__HIP_PLATFORM_NVIDIA__)

std::shared_ptr<backend::Runtime> make_runtime(std::function<build::Artifact(const device::DeviceInfo&)> timing_code) {
  return cuda::make_runtime([](int index) { return query_device(hip_calls(), index); }, std::move(timing_code));
}

#else

namespace {

using gpu::Status;

/// Calls that are needed only for launches in an application.
struct Calls {
  hipError_t (*get_device)(int*) = nullptr;
  hipError_t (*get_address_range)(hipDeviceptr_t*, std::size_t*, hipDeviceptr_t) = nullptr;
  hipError_t (*stream_is_capturing)(hipStream_t, hipStreamCaptureStatus*) = nullptr;
  hipError_t (*peek_at_last_error)() = nullptr;
  hipError_t (*get_last_error)() = nullptr;
};

const Calls& calls() {
  static const Calls table = [] {
    Calls filled;
    const system::DynamicLibrary& library = hip_calls().library;
    library.get("hipGetDevice", filled.get_device);
    library.get("hipMemGetAddressRange", filled.get_address_range);
    library.get("hipStreamIsCapturing", filled.stream_is_capturing);
    library.get("hipPeekAtLastError", filled.peek_at_last_error);
    library.get("hipGetLastError", filled.get_last_error);
    return filled;
  }();
  return table;
}

int device_index() {
  int index = 0;
  return calls().get_device(&index) == hipSuccess ? index : -1;
}

std::uintptr_t current() { return static_cast<std::uintptr_t>(device_index() + 1); }

Status adopt(std::uintptr_t context) { return hip_calls().hipSetDevice(static_cast<int>(context) - 1); }

Status launch(void* function, const device::Launch& l, void* stream, void** parameters) {
  return hip_calls().hipModuleLaunchKernel(static_cast<hipFunction_t>(function), l.grid[0], l.grid[1], l.grid[2],
                                           l.block[0], l.block[1], l.block[2], l.shared_bytes,
                                           static_cast<hipStream_t>(stream), parameters, nullptr);
}

Status is_capturing(void* stream, bool* capturing) {
  hipStreamCaptureStatus status = hipStreamCaptureStatusNone;
  const hipError_t result = calls().stream_is_capturing(static_cast<hipStream_t>(stream), &status);
  *capturing = status != hipStreamCaptureStatusNone;
  return result;
}

/// The number of bytes from the address on in an allocation of HIP; nullopt: it is in none.
std::optional<std::size_t> bytes_behind(const void* address) {
  hipDeviceptr_t base = nullptr;
  std::size_t size = 0;
  auto* const at = const_cast<void*>(address);
  const bool clean = calls().peek_at_last_error() == hipSuccess;
  if (calls().get_address_range(&base, &size, at) == hipSuccess)
    return size - static_cast<std::size_t>(static_cast<char*>(at) - static_cast<char*>(base));
  if (clean) static_cast<void>(calls().get_last_error());  // the application must not see an error of this query
  return std::nullopt;
}

bool owns(const void* address, std::uintptr_t*) { return bytes_behind(address).has_value(); }

Status synchronize() { return hip_calls().hipDeviceSynchronize(); }

std::optional<std::size_t> accessible_bytes(const void* address) {
  if (!address) return 0;
  if (const auto behind = bytes_behind(address)) return behind;
  int reaches = 0;  // whether it can access all of the host's memory (XNACK, or one memory for both)
  const hipError_t status =
      hip_calls().hipDeviceGetAttribute(&reaches, hipDeviceAttributePageableMemoryAccess, device_index());
  return status != hipSuccess || reaches ? std::nullopt : std::optional<std::size_t>(0);
}

}  // namespace

std::shared_ptr<backend::Runtime> make_runtime(std::function<build::Artifact(const device::DeviceInfo&)> timing_code) {
  initialise(hip_calls());
  calls();
  gpu::ContextApi context;
  context.current = current;
  context.adopt = adopt;
  context.launch = launch;
  context.is_capturing = is_capturing;
  context.accessible_bytes = accessible_bytes;
  context.owns = owns;
  context.synchronize = synchronize;
  context.device = [] { return query_device(hip_calls(), device_index()); };
  context.advice = "call hipSetDevice first";
  context.timing_code = std::move(timing_code);
  return gpu::make_runtime(module_calls(hip_calls()), std::move(context));
}

#endif

}  // namespace xtune::hip
