// The table of driver calls that CUDA and HIP fill, used by the common code for devices, buffers and programs, and for
// launches in the application's own context.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/runtime.hpp"
#include "core/build/shortage.hpp"
#include "core/measure/device.hpp"

namespace xtune::gpu {

/// The vendor's error code; 0 is success.
using Status = int;
/// Opaque handles of the driver; nullptr: none.
using Module = void*;
using Function = void*;
using Stream = void*;
using Event = void*;
using Graph = void*;  ///< ready to be launched

/// The driver's facts about a loaded kernel.
struct FunctionAttributes {
  int max_threads_per_block = 0;
  int registers = 0;
  std::int64_t static_shared_bytes = 0;
};

/// Calls for one device, to be made on the thread that opened it. All entries are set, except optional ones. Outputs
/// are written only on success. Calls throw only where this is stated.
struct DriverApi {
  /// "CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered"
  std::function<std::string(Status)> describe;
  /// Whether the device is lost to this process: every later call fails too.
  std::function<bool(Status)> is_sticky;
  /// The machine's problem that the code reports, such as a lack of memory; none for errors of a kernel.
  std::function<build::Lack(Status)> lack;

  std::function<Status(void** address, std::size_t bytes)> allocate;
  std::function<Status(void* address)> free;
  /// Optional: what the driver's messages are to call a part of an allocation ("argument 'x'").
  std::function<void(const void* address, std::size_t bytes, const std::string& name)> name_memory;
  /// Synchronous, pageable host memory.
  std::function<Status(void* device, const void* host, std::size_t bytes)> copy_to_device;
  std::function<Status(void* host, const void* device, std::size_t bytes)> copy_to_host;
  /// Asynchronous, in the stream's order.
  std::function<Status(void* device, unsigned char value, std::size_t bytes, Stream)> fill;

  /// Optional, all or none: zeroed host memory that the device accesses under its own address; both see each other's
  /// writes.
  std::function<Status(void** host, void** device, std::size_t bytes)> allocate_mapped;
  std::function<Status(void* host)> free_mapped;

  std::function<Status(Stream*)> create_stream;
  std::function<Status(Stream)> destroy_stream;
  std::function<Status(Stream)> synchronize_stream;
  /// An event with timing.
  std::function<Status(Event*)> create_event;
  std::function<Status(Event)> destroy_event;
  std::function<Status(Event, Stream)> record_event;
  std::function<Status(Event)> synchronize_event;
  std::function<Status(float* ms, Event start, Event stop)> elapsed_ms;

  std::function<Status(Module*, const std::string& image)> load_module;
  std::function<Status(Module)> unload_module;
  std::function<Status(Function*, Module, const char* symbol)> find_function;
  /// Where a variable of the module lies, and how large it is.
  std::function<Status(void** address, std::size_t* bytes, Module, const char* symbol)> find_variable;
  std::function<Status(FunctionAttributes*, Function)> function_attributes;
  /// Optional: lets a kernel use more dynamic shared memory than the default limit. Absent if no opt-in is needed.
  std::function<Status(Function, std::uint32_t bytes)> allow_dynamic_shared;
  /// Optional: bytes of each parameter of the kernel with this symbol, in its order; nullopt if they are unknown to the
  /// driver.
  std::function<std::optional<std::vector<std::size_t>>(Function, const build::Artifact&, const std::string& symbol)>
      parameter_sizes;
  /// `parameters` points at the arguments' values.
  std::function<Status(Function, const device::Launch&, Stream, void** parameters)> launch;
  /// Optional: lets the kernel use this cluster and shared memory, and counts the clusters that the device runs at
  /// once. Absent if the driver or vendor has no clusters.
  std::function<Status(int* count, Function, const device::Launch&)> active_clusters;
  /// Optional: counts the blocks of this shape that a compute unit runs at once. Absent if the device or its driver has
  /// no cooperative launches.
  std::function<Status(int* count, Function, const device::Launch&)> resident_blocks;

  /// Optional, all or none: what is queued into the stream between the first two is not executed, but becomes a graph.
  /// end_capture ends the capture even if it fails, and prepares the graph for its first launch as far as it can.
  std::function<Status(Stream)> begin_capture;
  std::function<Status(Graph*, Stream)> end_capture;
  std::function<Status(Graph, Stream)> launch_graph;
  std::function<Status(Graph)> destroy_graph;
  std::string graphs_need;  ///< what has graphs: "a driver for CUDA 11.4 or later"

  /// Optional: makes a kernel's argument of a tensor map that is not forbidden. Absent if the driver or vendor has
  /// none.
  std::function<Status(measure::EncodedTensorMap*, const measure::TensorMap&, void* address)> encode_tensor_map;

  /// Optional: the timing kernels compiled for this device (queue_timer.hpp). May throw the errors of a toolchain.
  std::function<build::Artifact()> timing_code;
  std::string no_timing;  ///< why there are none, for the timer's note; empty: they may be there
  double timer_hz = 1e9;  ///< ticks a second of the timer that those kernels read

  /// Optional: the current state from the device's monitor.
  std::function<measure::DeviceState()> state;

  /// Optional: releases the device (context), after everything else was released.
  std::function<void()> close;
};

/// A call of the library as one of a table: handles become the vendor's, and its result a number.
template <class Result, class... Own>
auto table_call(Result (*call)(Own...)) {
  return [call]<class... Given>(Given... given) -> int { return call(Own(given)...); };
}

/// For a launch with a cluster and a cooperative one, once the kernel may use its shared memory: throws
/// CandidateFailure(rejected) if the driver has none, or the device cannot run even one cluster, or not all blocks at
/// once.
void require_resident(const DriverApi& api, const device::DeviceInfo& info, Function function,
                      const device::Launch& launch);

/// Throws CandidateFailure(rejected) if the device or its driver has no tensor maps, or refuses this one.
measure::EncodedTensorMap encoded(const DriverApi& api, const device::DeviceInfo& info, const measure::TensorMap& map,
                                  void* address);

/// Calls of a driver in addition to the table; plain functions, since launches are time-critical.
struct ContextApi {
  std::uintptr_t (*current)() = nullptr;  ///< 0: none
  Status (*adopt)(std::uintptr_t context) = nullptr;
  Status (*launch)(void* function, const device::Launch& launch, void* stream, void** parameters) = nullptr;
  /// The graph that the stream is captured into; 0: none.
  Status (*capture_of)(void* stream, std::uint64_t* id) = nullptr;
  /// Optional: whether the stream belongs to another context than the current one.
  bool (*is_foreign)(void* stream) = nullptr;
  /// Memory for launches in this stream: from the pool that is ordered with it; where there is none, or the stream is
  /// captured, as cudaMalloc does, which does not end a capture.
  Status (*allocate)(void** address, std::size_t bytes, void* stream, bool captured) = nullptr;
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
