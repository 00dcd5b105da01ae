// Filling the table of driver calls from the CUDA driver, with tensor maps in its form, and launches in the
// application's contexts.
#include "backends/gpu/driver_api.hpp"

#include <fmt/core.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <initializer_list>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "backends/cuda/driver.hpp"
#include "backends/gpu/code_object.hpp"
#include "core/measure/tensor_map.hpp"
#include "xtune/error.hpp"

namespace xtune::cuda {
namespace {

static_assert(sizeof(CUtensorMap) == sizeof(measure::EncodedTensorMap));

/// Types of one byte, and complex numbers, are only moved.
CUtensorMapDataType type_of(const measure::TensorMap& map) {
  switch (map.dtype) {
    case DType::f16:
      return CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
    case DType::bf16:
      return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
    case DType::f32:
      return map.tf32 ? CU_TENSOR_MAP_DATA_TYPE_TFLOAT32 : CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
    case DType::f64:
      return CU_TENSOR_MAP_DATA_TYPE_FLOAT64;
    case DType::i32:
      return CU_TENSOR_MAP_DATA_TYPE_INT32;
    case DType::i64:
      return CU_TENSOR_MAP_DATA_TYPE_INT64;
    case DType::i16:
    case DType::u16:
      return CU_TENSOR_MAP_DATA_TYPE_UINT16;
    case DType::u32:
      return CU_TENSOR_MAP_DATA_TYPE_UINT32;
    case DType::u64:
    case DType::c64:
    case DType::c128:  // forbidden
      return CU_TENSOR_MAP_DATA_TYPE_UINT64;
    case DType::f8e4m3:
    case DType::f8e5m2:
    case DType::i8:
    case DType::u8:
    case DType::boolean:
      break;
  }
  return CU_TENSOR_MAP_DATA_TYPE_UINT8;
}

/// The driver's value for a number of bytes; 0, for which each enumeration has "none", for other numbers.
template <class Value>
Value value_of(std::int64_t bytes, std::initializer_list<std::pair<std::int64_t, Value>> values) {
  for (const auto& [known, value] : values)
    if (known == bytes) return value;
  return Value{0};
}

template <class Number>
std::vector<Number> reversed(const std::vector<std::int64_t>& values, std::int64_t factor = 1) {
  std::vector<Number> result;
  for (std::size_t i = values.size(); i-- > 0;) result.push_back(static_cast<Number>(values[i] * factor));
  return result;
}

CUresult encode_tensor_map(const Driver& driver, measure::EncodedTensorMap* encoded, const measure::TensorMap& map,
                           void* address) {
  const auto extents = reversed<std::uint64_t>(map.shape);
  auto stride_bytes = reversed<std::uint64_t>(map.strides, static_cast<std::int64_t>(size_of(map.dtype)));
  stride_bytes.resize(extents.size());  // one too many: the driver refuses a null pointer, even for one dimension
  const auto box = reversed<unsigned>(map.box), element_strides = reversed<unsigned>(map.element_strides);
  const auto interleave = value_of<CUtensorMapInterleave>(
      map.interleave, {{16, CU_TENSOR_MAP_INTERLEAVE_16B}, {32, CU_TENSOR_MAP_INTERLEAVE_32B}});
  const auto swizzle = value_of<CUtensorMapSwizzle>(
      map.swizzle,
      {{32, CU_TENSOR_MAP_SWIZZLE_32B}, {64, CU_TENSOR_MAP_SWIZZLE_64B}, {128, CU_TENSOR_MAP_SWIZZLE_128B}});
  const auto promotion =
      value_of<CUtensorMapL2promotion>(map.l2_promotion, {{64, CU_TENSOR_MAP_L2_PROMOTION_L2_64B},
                                                          {128, CU_TENSOR_MAP_L2_PROMOTION_L2_128B},
                                                          {256, CU_TENSOR_MAP_L2_PROMOTION_L2_256B}});
  CUtensorMap result;
  const CUresult status = driver.encode_tensor_map(
      &result, type_of(map), static_cast<unsigned>(extents.size()), address, extents.data(), stride_bytes.data(),
      box.data(), element_strides.data(), interleave, swizzle, promotion,
      map.nan_outside ? CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA : CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (status == CUDA_SUCCESS) std::memcpy(encoded->bytes.data(), &result, sizeof result);
  return status;
}

using gpu::Status;

/// After these the context is lost ("the process must be terminated and relaunched", CUDA driver API, CUresult).
bool is_sticky(Status status) {
  switch (static_cast<CUresult>(status)) {
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_FAILED:
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_NVLINK_UNCORRECTABLE:
    case CUDA_ERROR_CONTEXT_IS_DESTROYED:
    case CUDA_ERROR_DEINITIALIZED:
    case CUDA_ERROR_UNKNOWN:
      return true;
    default:
      // Newer kinds of device faults (contained, tensor memory leak, ...) have codes among the execution errors.
      return status >= CUDA_ERROR_LAUNCH_FAILED && status < 800 && status != CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
  }
}

/// By the CUDA driver API's description of CUresult.
build::Lack lack(Status status) {
  switch (status) {
    case CUDA_ERROR_OUT_OF_MEMORY:
      return build::Lack::memory;
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_NVLINK_UNCORRECTABLE:
    case CUDA_ERROR_SYSTEM_NOT_READY:
    case CUDA_ERROR_DEVICE_UNAVAILABLE:
      return build::Lack::unclear;
    default:
      return status >= CUDA_ERROR_MPS_CONNECTION_FAILED && status <= CUDA_ERROR_MPS_CLIENT_TERMINATED
                 ? build::Lack::unclear
                 : build::Lack::none;
  }
}

void fill_memory(gpu::DriverApi& api, const Driver* d) {
  api.allocate = [d](void** address, std::size_t bytes) -> Status {
    CUdeviceptr memory = 0;
    const CUresult status = d->cuMemAlloc_v2(&memory, bytes);
    if (status == CUDA_SUCCESS) *address = reinterpret_cast<void*>(memory);
    return status;
  };
  api.free = gpu::table_call(d->cuMemFree_v2);
  api.copy_to_device = gpu::table_call(d->cuMemcpyHtoD_v2);
  api.copy_to_host = gpu::table_call(d->cuMemcpyDtoH_v2);
  api.fill = gpu::table_call(d->cuMemsetD8Async);
  api.allocate_mapped = [d](void** host, void** device, std::size_t bytes) -> Status {
    void* memory = nullptr;
    CUdeviceptr seen = 0;
    CUresult status = d->cuMemHostAlloc(&memory, bytes, memory_seen_by_the_device);
    if (status != CUDA_SUCCESS) return status;
    status = d->cuMemHostGetDevicePointer_v2(&seen, memory, 0);
    if (status != CUDA_SUCCESS) {
      d->cuMemFreeHost(memory);
      return status;
    }
    std::memset(memory, 0, bytes);
    *host = memory;
    *device = reinterpret_cast<void*>(seen);
    return CUDA_SUCCESS;
  };
  api.free_mapped = gpu::table_call(d->cuMemFreeHost);
}

void fill_queue(gpu::DriverApi& api, const Driver* d) {
  api.create_stream = [d](gpu::Stream* stream) -> Status {
    // Blocking with the legacy stream: the synchronous copies use that one, and must order with the stream's work.
    return d->cuStreamCreate(stream, CU_STREAM_DEFAULT);
  };
  api.destroy_stream = gpu::table_call(d->cuStreamDestroy_v2);
  api.synchronize_stream = gpu::table_call(d->cuStreamSynchronize);
  api.create_event = [d](gpu::Event* event) -> Status { return d->cuEventCreate(event, CU_EVENT_DEFAULT); };
  api.destroy_event = gpu::table_call(d->cuEventDestroy_v2);
  api.record_event = gpu::table_call(d->cuEventRecord);
  api.synchronize_event = gpu::table_call(d->cuEventSynchronize);
  api.elapsed_ms = gpu::table_call(d->event_elapsed_time);
}

/// A launch with a cluster, as the driver takes it.
struct ClusterLaunch {
  ClusterLaunch(const device::Launch& l, gpu::Stream stream) {
    attributes[0].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    attributes[0].value.clusterDim.x = l.cluster[0];
    attributes[0].value.clusterDim.y = l.cluster[1];
    attributes[0].value.clusterDim.z = l.cluster[2];
    attributes[1].id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
    attributes[1].value.cooperative = 1;
    config.gridDimX = l.grid[0], config.gridDimY = l.grid[1], config.gridDimZ = l.grid[2];
    config.blockDimX = l.block[0], config.blockDimY = l.block[1], config.blockDimZ = l.block[2];
    config.sharedMemBytes = l.shared_bytes;
    config.hStream = stream;
    config.attrs = attributes;
    config.numAttrs = l.cooperative ? 2 : 1;
  }
  ClusterLaunch(const ClusterLaunch&) = delete;
  ClusterLaunch& operator=(const ClusterLaunch&) = delete;
  CUlaunchAttribute attributes[2]{};
  CUlaunchConfig config{};
};

/// Opts in to a large cluster, and counts those that fit.
Status active_clusters(const Driver* d, int* count, gpu::Function function, const device::Launch& l) {
  constexpr std::uint32_t portable_blocks = 8;  // larger clusters need an opt-in: CUDA C++ Programming Guide, clusters
  if (l.cluster[0] * l.cluster[1] * l.cluster[2] > portable_blocks) {
    const CUresult status = d->cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1);
    if (status != CUDA_SUCCESS) return status;
  }
  *count = 1;
  if (!d->max_active_clusters) return CUDA_SUCCESS;
  const ClusterLaunch launch(l, nullptr);
  return d->max_active_clusters(count, function, &launch.config);
}

void fill_launches(gpu::DriverApi& api, const Driver* d, int major, bool cooperative) {
  api.launch = [d](gpu::Function function, const device::Launch& l, gpu::Stream stream, void** parameters) -> Status {
    if (l.cluster[0] != 0) {
      const ClusterLaunch launch(l, stream);
      return d->launch_kernel_ex(&launch.config, function, parameters, nullptr);
    }
    if (l.cooperative)
      return d->launch_cooperative(function, l.grid[0], l.grid[1], l.grid[2], l.block[0], l.block[1], l.block[2],
                                   l.shared_bytes, stream, parameters);
    return d->cuLaunchKernel(function, l.grid[0], l.grid[1], l.grid[2], l.block[0], l.block[1], l.block[2],
                             l.shared_bytes, stream, parameters, nullptr);
  };
  if (d->launch_kernel_ex && major >= 9)
    api.active_clusters = [d](int* count, gpu::Function function, const device::Launch& l) -> Status {
      return active_clusters(d, count, function, l);
    };
  if (cooperative && d->launch_cooperative && d->max_active_blocks)
    api.resident_blocks = [d](int* count, gpu::Function function, const device::Launch& l) -> Status {
      return d->max_active_blocks(count, function, static_cast<int>(l.block[0] * l.block[1] * l.block[2]),
                                  l.shared_bytes);
    };
}

void fill_kernels(gpu::DriverApi& api, const Driver* d, int major) {
  api.load_module = [d](gpu::Module* handle, const std::string& image) -> Status {
    if (!gpu::is_whole(image)) return CUDA_ERROR_INVALID_IMAGE;
    return d->cuModuleLoadData(handle, image.data());
  };
  api.unload_module = gpu::table_call(d->cuModuleUnload);
  api.find_function = gpu::table_call(d->cuModuleGetFunction);
  api.find_variable = [d](void** address, std::size_t* bytes, gpu::Module handle, const char* symbol) -> Status {
    CUdeviceptr memory = 0;
    const CUresult status = d->cuModuleGetGlobal_v2(&memory, bytes, handle, symbol);
    if (status == CUDA_SUCCESS) *address = reinterpret_cast<void*>(memory);
    return status;
  };
  api.function_attributes = [d](gpu::FunctionAttributes* out, gpu::Function function) -> Status {
    int shared = 0;
    CUresult status =
        d->cuFuncGetAttribute(&out->max_threads_per_block, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function);
    if (status == CUDA_SUCCESS) status = d->cuFuncGetAttribute(&out->registers, CU_FUNC_ATTRIBUTE_NUM_REGS, function);
    if (status == CUDA_SUCCESS) status = d->cuFuncGetAttribute(&shared, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function);
    out->static_shared_bytes = shared;
    return status;
  };
  api.allow_dynamic_shared = [d](gpu::Function function, std::uint32_t bytes) -> Status {
    return d->cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, static_cast<int>(bytes));
  };
  if (d->get_parameter_info) {
    api.parameter_sizes = [d](gpu::Function function, const build::Artifact&,
                              const std::string&) -> std::optional<std::vector<std::size_t>> {
      std::vector<std::size_t> sizes;
      std::size_t offset = 0, size = 0;
      CUresult status = CUDA_SUCCESS;
      while ((status = d->get_parameter_info(function, sizes.size(), &offset, &size)) == CUDA_SUCCESS)
        sizes.push_back(size);
      if (status != CUDA_ERROR_INVALID_VALUE) return std::nullopt;  // the status for an index past the last parameter
      return sizes;
    };
  }
  if (d->encode_tensor_map && major >= 9) {
    api.encode_tensor_map = [d](measure::EncodedTensorMap* encoded, const measure::TensorMap& map,
                                void* address) -> Status { return encode_tensor_map(*d, encoded, map, address); };
  }
}

void fill_graphs(gpu::DriverApi& api, const Driver* d) {
  api.graphs_need = "a driver for CUDA 11.4 or later";
  if (!d->stream_begin_capture || !d->stream_end_capture || !d->graph_instantiate || !d->graph_launch ||
      !d->graph_exec_destroy || !d->graph_destroy)
    return;
  api.begin_capture = [d](gpu::Stream stream) -> Status {
    // The driver may have to load code meanwhile, which the other modes refuse.
    return d->stream_begin_capture(stream, CU_STREAM_CAPTURE_MODE_RELAXED);
  };
  api.end_capture = [d](gpu::Graph* graph, gpu::Stream stream) -> Status {
    CUgraph captured = nullptr;
    CUresult status = d->stream_end_capture(stream, &captured);
    if (status != CUDA_SUCCESS) return status;
    status = d->graph_instantiate(graph, captured, 0);
    d->graph_destroy(captured);
    if (status != CUDA_SUCCESS || !d->graph_upload) return status;
    status = d->graph_upload(*graph, stream);
    if (status != CUDA_SUCCESS) d->graph_exec_destroy(*graph);
    return status;
  };
  api.launch_graph = gpu::table_call(d->graph_launch);
  api.destroy_graph = gpu::table_call(d->graph_exec_destroy);
}

gpu::DriverApi calls_of(const Driver* d, int major, bool cooperative) {
  gpu::DriverApi api;
  api.describe = [d](Status code) { return describe(*d, static_cast<CUresult>(code)); };
  api.is_sticky = is_sticky;
  api.lack = lack;
  fill_memory(api, d);
  fill_queue(api, d);
  fill_kernels(api, d, major);
  fill_launches(api, d, major, cooperative);
  fill_graphs(api, d);
  return api;
}

}  // namespace

gpu::DriverApi module_calls(const Driver& driver) {
  constexpr int with_clusters = 9;
  return calls_of(&driver, with_clusters, true);
}

std::unique_ptr<measure::ClockLock> open_clocks(int index) {
  const Driver& driver = cuda::driver();
  initialise(driver);
  CUdevice device = 0;
  char pci_address[32] = "";
  CUresult status = driver.cuDeviceGet(&device, index);
  if (status == CUDA_SUCCESS) status = driver.cuDeviceGetPCIBusId(pci_address, sizeof pci_address, device);
  if (status != CUDA_SUCCESS)
    throw Error(ErrorKind::unavailable,
                fmt::format("--lock-clocks: cuda device {} has no address: {}", index, describe(driver, status)));
  return nvml_clocks(pci_address);
}

gpu::DriverApi open_driver_api(const Driver& driver, int index) {
  const Driver* d = &driver;
  CUdevice device = 0;
  CUcontext context = nullptr;
  int major = 0;
  CUresult status = d->cuDeviceGet(&device, index);
  if (status == CUDA_SUCCESS)
    status = d->cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
  if (status == CUDA_SUCCESS) status = d->cuDevicePrimaryCtxRetain(&context, device);
  if (status == CUDA_SUCCESS) status = d->cuCtxSetCurrent(context);
  if (status != CUDA_SUCCESS)
    throw Error(ErrorKind::unavailable,
                fmt::format("cuda device {} cannot be opened: {} (is it in exclusive use, or out of memory?)", index,
                            describe(driver, status)));
  int cooperative = 0;
  if (d->cuDeviceGetAttribute(&cooperative, CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, device) != CUDA_SUCCESS)
    cooperative = 0;
  gpu::DriverApi api = calls_of(d, major, cooperative != 0);
  char pci_address[32] = "";
  if (d->cuDeviceGetPCIBusId(pci_address, sizeof pci_address, device) == CUDA_SUCCESS)
    api.state = open_monitor(pci_address, query_device(driver, index).uuid);
  api.close = [d, device] { d->cuDevicePrimaryCtxRelease_v2(device); };
  return api;
}

// The driver's calls for the current context, pointers and captures.

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

Status capture_of(void* stream, std::uint64_t* id) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  const CUresult result = driver().capture_info ? driver().capture_info(stream, &status, id)
                                                : driver().cuStreamIsCapturing(stream, &status);
  if (status == CU_STREAM_CAPTURE_STATUS_NONE)
    *id = 0;
  else if (*id == 0)
    *id = 1;
  return result;
}

bool is_foreign(void* stream) {
  CUcontext own = nullptr, now = nullptr;
  return driver().stream_get_context && driver().stream_get_context(stream, &own) == CUDA_SUCCESS &&
         driver().cuCtxGetCurrent(&now) == CUDA_SUCCESS && own != now;
}

Status allocate(void** address, std::size_t bytes, void* stream, bool captured) {
  CUdeviceptr memory = 0;
  CUresult status = CUDA_ERROR_NOT_SUPPORTED;
  if (!captured && driver().allocate_ordered) status = driver().allocate_ordered(&memory, bytes, stream);
  if (status == CUDA_ERROR_NOT_SUPPORTED) {                     // by this device, or its driver
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;  // of this thread: the call does not touch the stream
    const bool exchanged =
        captured && driver().exchange_capture_mode && driver().exchange_capture_mode(&mode) == CUDA_SUCCESS;
    status = driver().cuMemAlloc_v2(&memory, bytes);
    if (exchanged) driver().exchange_capture_mode(&mode);
  }
  if (status == CUDA_SUCCESS) *address = reinterpret_cast<void*>(memory);
  return status;
}

/// Whether a kernel may access memory that CUDA did not allocate (HMM, ATS).
bool reaches_all_memory() {
  CUdevice device = 0;
  int reaches = 0;
  return driver().cuCtxGetDevice(&device) != CUDA_SUCCESS ||
         driver().cuDeviceGetAttribute(&reaches, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS, device) != CUDA_SUCCESS ||
         reaches != 0;
}

/// Whether this process may read it: not so memory that was given back to CUDA, whose addresses it keeps.
bool is_readable(const void* address) {
  char byte = 0;
  const iovec local{&byte, 1}, remote{const_cast<void*>(address), 1};
  return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == 1 || errno != EFAULT;
}

std::optional<std::size_t> accessible_bytes(const void* address) {
  const auto at = reinterpret_cast<CUdeviceptr>(address);
  unsigned type = 0;
  const CUresult status = driver().cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, at);
  if (status == CUDA_ERROR_INVALID_VALUE) {  // the status for an address that is not CUDA's
    if (address && reaches_all_memory() && is_readable(address)) return std::nullopt;
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
  context.capture_of = capture_of;
  context.is_foreign = is_foreign;
  context.allocate = allocate;
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
