// Filling the table of driver calls from HIP, and launches on the application's devices.
#include "backends/gpu/driver_api.hpp"

#include <fmt/core.h>

#include <cstring>

#include "backends/gpu/amd_sysfs.hpp"
#include "backends/gpu/code_object.hpp"
#include "backends/hip/hip_calls.hpp"
#include "xtune/error.hpp"

#if defined(__HIP_PLATFORM_NVIDIA__)
#include "backends/cuda/driver.hpp"
#endif

namespace xtune::hip {
namespace {

using gpu::Status;

bool is_sticky(const HipCalls* h, Status status) {
  switch (static_cast<hipError_t>(status)) {
    case hipErrorIllegalAddress:
    case hipErrorLaunchTimeOut:
    case hipErrorAssert:
    case hipErrorLaunchFailure:
    case hipErrorECCNotCorrectable:
    case hipErrorContextIsDestroyed:
    case hipErrorDeinitialized:
      return true;
    case hipErrorUnknown:
      // HIP's NVIDIA side returns this for every error without a name, harmless or not: test the device.
      return h->hipDeviceSynchronize() != hipSuccess;
    default:
      return false;
  }
}

/// By HIP's description of hipError_t.
build::Lack lack(Status status) {
  if (status == hipErrorOutOfMemory) return build::Lack::memory;
  return status == hipErrorECCNotCorrectable ? build::Lack::unclear : build::Lack::none;
}

void fill_memory(gpu::DriverApi& api, const HipCalls* h) {
  api.allocate = gpu::table_call(h->hipMalloc);
  if (h->xtune_name_memory)
    api.name_memory = [h](const void* address, std::size_t bytes, const std::string& name) {
      static_cast<void>(h->xtune_name_memory(address, bytes, name.c_str()));
    };
  api.free = gpu::table_call(h->hipFree);
  api.copy_to_device = [h](void* to, const void* from, std::size_t bytes) -> Status {
    return h->hipMemcpy(to, from, bytes, hipMemcpyHostToDevice);
  };
  api.copy_to_host = [h](void* to, const void* from, std::size_t bytes) -> Status {
    return h->hipMemcpy(to, from, bytes, hipMemcpyDeviceToHost);
  };
  api.fill = gpu::table_call(h->hipMemsetAsync);
  api.allocate_mapped = [h](void** host, void** device, std::size_t bytes) -> Status {
    void *memory = nullptr, *seen = nullptr;
    // Coherent: otherwise the device may cache values that the host writes while a kernel runs.
    hipError_t status = h->hipHostMalloc(&memory, bytes, hipHostMallocMapped | hipHostMallocCoherent);
    if (status != hipSuccess) return status;
    status = h->hipHostGetDevicePointer(&seen, memory, 0);
    if (status != hipSuccess) {
      static_cast<void>(h->hipHostFree(memory));
      return status;
    }
    std::memset(memory, 0, bytes);
    *host = memory;
    *device = seen;
    return hipSuccess;
  };
  api.free_mapped = gpu::table_call(h->hipHostFree);
}

void fill_queue(gpu::DriverApi& api, const HipCalls* h) {
  api.create_stream = [h](gpu::Stream* stream) -> Status {
    // Blocking with the null stream: the synchronous copies use that one, and must order with the stream's work.
    return h->hipStreamCreateWithFlags(reinterpret_cast<hipStream_t*>(stream), hipStreamDefault);
  };
  api.destroy_stream = gpu::table_call(h->hipStreamDestroy);
  api.synchronize_stream = gpu::table_call(h->hipStreamSynchronize);
  api.create_event = [h](gpu::Event* event) -> Status {
    return h->hipEventCreateWithFlags(reinterpret_cast<hipEvent_t*>(event), hipEventDefault);
  };
  api.destroy_event = gpu::table_call(h->hipEventDestroy);
  api.record_event = gpu::table_call(h->hipEventRecord);
  api.synchronize_event = gpu::table_call(h->hipEventSynchronize);
  api.elapsed_ms = gpu::table_call(h->hipEventElapsedTime);
#if !defined(__HIP_PLATFORM_NVIDIA__)
  api.timer_hz = 100e6;  // wall_clock64 on every GPU this HIP compiles for: "constant 100 MHz" (s_memrealtime, AMD ISA)
#endif
}

void fill_kernels(gpu::DriverApi& api, const HipCalls* h) {
  api.load_module = [h](gpu::Module* handle, const std::string& image) -> Status {
    if (!gpu::is_whole(image)) return hipErrorInvalidImage;
    return h->hipModuleLoadData(reinterpret_cast<hipModule_t*>(handle), image.data());
  };
  api.unload_module = gpu::table_call(h->hipModuleUnload);
  api.find_function = gpu::table_call(h->hipModuleGetFunction);
  api.find_variable = [h](void** address, std::size_t* bytes, gpu::Module handle, const char* symbol) -> Status {
    hipDeviceptr_t memory{};
    const hipError_t status = h->hipModuleGetGlobal(&memory, bytes, static_cast<hipModule_t>(handle), symbol);
    if (status == hipSuccess) *address = reinterpret_cast<void*>(memory);  // an integer on NVIDIA
    return status;
  };
  api.function_attributes = [h](gpu::FunctionAttributes* out, gpu::Function handle) -> Status {
    auto* const function = static_cast<hipFunction_t>(handle);
    int shared = 0;
    hipError_t status =
        h->hipFuncGetAttribute(&out->max_threads_per_block, HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function);
    if (status == hipSuccess) status = h->hipFuncGetAttribute(&out->registers, HIP_FUNC_ATTRIBUTE_NUM_REGS, function);
    if (status == hipSuccess) status = h->hipFuncGetAttribute(&shared, HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function);
    out->static_shared_bytes = shared;
    return status;
  };
  api.launch = [h](gpu::Function function, const device::Launch& l, gpu::Stream stream, void** parameters) -> Status {
#if !defined(__HIP_PLATFORM_NVIDIA__)
    if (l.cooperative)
      return h->hipModuleLaunchCooperativeKernel(static_cast<hipFunction_t>(function), l.grid[0], l.grid[1], l.grid[2],
                                                 l.block[0], l.block[1], l.block[2], l.shared_bytes,
                                                 static_cast<hipStream_t>(stream), parameters);
#endif
    return h->hipModuleLaunchKernel(static_cast<hipFunction_t>(function), l.grid[0], l.grid[1], l.grid[2], l.block[0],
                                    l.block[1], l.block[2], l.shared_bytes, static_cast<hipStream_t>(stream),
                                    parameters, nullptr);
  };
}

/// Of the current device.
void fill_cooperative([[maybe_unused]] gpu::DriverApi& api, [[maybe_unused]] const HipCalls* h) {
#if !defined(__HIP_PLATFORM_NVIDIA__)
  if (!h->hipModuleLaunchCooperativeKernel || !h->hipModuleOccupancyMaxActiveBlocksPerMultiprocessor) return;
  api.resident_blocks = [h](int* count, gpu::Function function, const device::Launch& l) -> Status {
    return h->hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(count, static_cast<hipFunction_t>(function),
                                                                 static_cast<int>(l.block[0] * l.block[1] * l.block[2]),
                                                                 l.shared_bytes);
  };
#endif
}

/// From an AMD code object; on NVIDIA the underlying driver reports them.
void fill_parameters([[maybe_unused]] gpu::DriverApi& api) {
#if !defined(__HIP_PLATFORM_NVIDIA__)
  api.parameter_sizes = [](gpu::Function, const build::Artifact& artifact,
                           const std::string& symbol) -> std::optional<std::vector<std::size_t>> {
    auto metadata = gpu::kernel_metadata(gpu::unbundle(artifact.image, artifact.arch), symbol);
    if (!metadata) return std::nullopt;
    return std::move(metadata->parameter_bytes);
  };
#endif
}

void fill_graphs([[maybe_unused]] gpu::DriverApi& api, [[maybe_unused]] const HipCalls* h) {
#if !defined(__HIP_PLATFORM_NVIDIA__)
  api.graphs_need = "ROCm 5.2 or later";
  if (!h->hipStreamBeginCapture || !h->hipStreamEndCapture || !h->hipGraphInstantiate || !h->hipGraphLaunch ||
      !h->hipGraphExecDestroy || !h->hipGraphDestroy)
    return;
  api.begin_capture = [h](gpu::Stream stream) -> Status {
    return h->hipStreamBeginCapture(static_cast<hipStream_t>(stream), hipStreamCaptureModeRelaxed);
  };
  api.end_capture = [h](gpu::Graph* graph, gpu::Stream stream) -> Status {
    hipGraph_t captured = nullptr;
    hipError_t status = h->hipStreamEndCapture(static_cast<hipStream_t>(stream), &captured);
    if (status != hipSuccess) return status;
    status = h->hipGraphInstantiate(reinterpret_cast<hipGraphExec_t*>(graph), captured, nullptr, nullptr, 0);
    static_cast<void>(h->hipGraphDestroy(captured));
    return status;
  };
  api.launch_graph = gpu::table_call(h->hipGraphLaunch);
  api.destroy_graph = gpu::table_call(h->hipGraphExecDestroy);
#endif
}

/// Features of the underlying platform that HIP's own calls do not cover.
void fill_platform(gpu::DriverApi& api, const HipCalls* h, int index) {
#if defined(__HIP_PLATFORM_NVIDIA__)
  static_cast<void>(h);
  // HIP's module calls cannot opt in to large shared memory, query parameters or launch in clusters; CUDA's calls
  // accept the same handles.
  gpu::DriverApi cuda = cuda::open_driver_api(cuda::driver(), index);
  api.allow_dynamic_shared = std::move(cuda.allow_dynamic_shared);
  api.parameter_sizes = std::move(cuda.parameter_sizes);
  api.launch = std::move(cuda.launch);
  api.resident_blocks = std::move(cuda.resident_blocks);
  api.active_clusters = std::move(cuda.active_clusters);
  api.encode_tensor_map = std::move(cuda.encode_tensor_map);
  api.begin_capture = std::move(cuda.begin_capture);
  api.end_capture = std::move(cuda.end_capture);
  api.launch_graph = std::move(cuda.launch_graph);
  api.destroy_graph = std::move(cuda.destroy_graph);
  api.graphs_need = std::move(cuda.graphs_need);
  api.state = std::move(cuda.state);
  api.close = std::move(cuda.close);
#else
  int cooperative = 0;
  if (h->hipDeviceGetAttribute(&cooperative, hipDeviceAttributeCooperativeLaunch, index) != hipSuccess || !cooperative)
    api.resident_blocks = nullptr;
  char pci_address[32] = "";
  if (h->hipDeviceGetPCIBusId(pci_address, sizeof pci_address, index) == hipSuccess)
    api.state = gpu::open_amd_monitor(pci_address);
#endif
}

}  // namespace

gpu::DriverApi module_calls(const HipCalls& calls) {
  const HipCalls* h = &calls;
  gpu::DriverApi api;
  api.describe = [h](Status code) { return describe(*h, static_cast<hipError_t>(code)); };
  api.is_sticky = [h](Status code) { return is_sticky(h, code); };
  api.lack = lack;
  fill_memory(api, h);
  fill_queue(api, h);
  fill_kernels(api, h);
  fill_cooperative(api, h);
  fill_parameters(api);
  fill_graphs(api, h);
  return api;
}

gpu::DriverApi open_driver_api(const HipCalls& calls, int index) {
  const HipCalls* h = &calls;
  hipError_t status = h->hipSetDevice(index);
  // The runtime creates its context on the first call that needs one; module calls are not among those on NVIDIA.
  if (status == hipSuccess) status = h->hipFree(nullptr);
  if (status != hipSuccess)
    throw Error(ErrorKind::unavailable,
                fmt::format("hip device {} cannot be opened: {} (is it in exclusive use, or out of memory?)", index,
                            describe(calls, status)));
  gpu::DriverApi api = module_calls(calls);
  fill_platform(api, h, index);
  return api;
}

// On AMD the current device represents its context; on NVIDIA HIP's handles are CUDA's, and so are the calls.

#if defined(__HIP_PLATFORM_NVIDIA__)

std::shared_ptr<backend::Runtime> make_runtime(std::function<build::Artifact(const device::DeviceInfo&)> timing_code) {
  return cuda::make_runtime([](int index) { return query_device(hip_calls(), index); }, std::move(timing_code));
}

#else

namespace {

int device_index() {
  int index = 0;
  return hip_calls().hipGetDevice(&index) == hipSuccess ? index : -1;
}

std::uintptr_t current() { return static_cast<std::uintptr_t>(device_index() + 1); }

Status adopt(std::uintptr_t context) { return hip_calls().hipSetDevice(static_cast<int>(context) - 1); }

Status launch(void* function, const device::Launch& l, void* stream, void** parameters) {
  return hip_calls().hipModuleLaunchKernel(static_cast<hipFunction_t>(function), l.grid[0], l.grid[1], l.grid[2],
                                           l.block[0], l.block[1], l.block[2], l.shared_bytes,
                                           static_cast<hipStream_t>(stream), parameters, nullptr);
}

Status capture_of(void* stream, std::uint64_t* id) {
  hipStreamCaptureStatus status = hipStreamCaptureStatusNone;
  unsigned long long number = 0;
  *id = 0;
  if (!hip_calls().hipStreamGetCaptureInfo) return hipSuccess;  // a HIP without graphs
  const hipError_t result = hip_calls().hipStreamGetCaptureInfo(static_cast<hipStream_t>(stream), &status, &number);
  *id = status == hipStreamCaptureStatusNone ? 0 : number == 0 ? 1 : number;
  return result;
}

Status allocate(void** address, std::size_t bytes, void* stream, bool captured) {
  const HipCalls& h = hip_calls();
  if (!captured && h.hipMallocAsync) {
    const hipError_t status = h.hipMallocAsync(address, bytes, static_cast<hipStream_t>(stream));
    if (status != hipErrorNotSupported) return status;
  }
  hipStreamCaptureMode mode = hipStreamCaptureModeRelaxed;  // of this thread: the call does not touch the stream
  const bool exchanged =
      captured && h.hipThreadExchangeStreamCaptureMode && h.hipThreadExchangeStreamCaptureMode(&mode) == hipSuccess;
  const hipError_t status = h.hipMalloc(address, bytes);
  if (exchanged) static_cast<void>(h.hipThreadExchangeStreamCaptureMode(&mode));
  return status;
}

/// The number of bytes from the address on in an allocation of HIP; nullopt: it is in none.
std::optional<std::size_t> bytes_behind(const void* address) {
  hipDeviceptr_t base = nullptr;
  std::size_t size = 0;
  auto* const at = const_cast<void*>(address);
  const bool clean = hip_calls().hipPeekAtLastError() == hipSuccess;
  if (hip_calls().hipMemGetAddressRange(&base, &size, at) == hipSuccess)
    return size - static_cast<std::size_t>(static_cast<char*>(at) - static_cast<char*>(base));
  if (clean) static_cast<void>(hip_calls().hipGetLastError());  // the application must not see an error of this query
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
  gpu::ContextApi context;
  context.current = current;
  context.adopt = adopt;
  context.launch = launch;
  context.capture_of = capture_of;
  context.allocate = allocate;
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
