// The table of driver calls that CUDA and HIP fill, and over which devices, buffers and programs are written once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/build/shortage.hpp"
#include "core/measure/device.hpp"

namespace xtune::gpu {

/// The vendor's error code; 0 is success.
using Status = int;
/// Opaque handles of the driver; nullptr is none.
using Module = void*;
using Function = void*;
using Stream = void*;
using Event = void*;

/// What the driver says of a loaded kernel.
struct FunctionAttributes {
  int max_threads_per_block = 0;
  int registers = 0;
  std::int64_t static_shared_bytes = 0;
};

/// Calls for one device, to be made from the thread that opened it. All entries are set, except those said to be
/// optional. Outputs are written on success only. Nothing throws but where it is said.
struct DriverApi {
  /// "CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered"
  std::function<std::string(Status)> describe;
  /// True when the device is lost to this process: every later call fails too.
  std::function<bool(Status)> is_sticky;
  /// What the machine lacks, or has wrong with it, where that is what the code says; none for what a kernel did.
  std::function<build::Lack(Status)> lack;

  std::function<Status(void** address, std::size_t bytes)> allocate;
  std::function<Status(void* address)> free;
  /// Synchronous, pageable host memory.
  std::function<Status(void* device, const void* host, std::size_t bytes)> copy_to_device;
  std::function<Status(void* host, const void* device, std::size_t bytes)> copy_to_host;
  /// Asynchronous, in the stream's order.
  std::function<Status(void* device, unsigned char value, std::size_t bytes, Stream)> fill;

  /// Optional, all or none: host memory, zeroed, that the device sees under its own address, and what the device writes
  /// there the host.
  std::function<Status(void** host, void** device, std::size_t bytes)> allocate_mapped;
  std::function<Status(void* host)> free_mapped;

  std::function<Status(Stream*)> create_stream;
  std::function<Status(Stream)> destroy_stream;
  std::function<Status(Stream)> synchronize_stream;
  /// With timing.
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
  /// Optional: lets a kernel use more dynamic shared memory than the default limit. Absent where no opting in is
  /// needed.
  std::function<Status(Function, std::uint32_t bytes)> allow_dynamic_shared;
  /// Optional: bytes of each parameter, in kernel order; nullopt where the driver does not tell.
  std::function<std::optional<std::vector<std::size_t>>(Function, const build::Artifact&)> parameter_sizes;
  /// `parameters` points at the arguments' values.
  std::function<Status(Function, const device::Launch&, Stream, void** parameters)> launch;
  /// Optional: as launch, for a launch with a cluster. Absent where driver or vendor has no clusters.
  std::function<Status(Function, const device::Launch&, Stream, void** parameters)> launch_cluster;

  /// Optional: the timing kernels compiled for this device (timing_kernels.hpp). May throw what a toolchain throws.
  std::function<build::Artifact()> timing_code;
  double timer_hz = 1e9;  ///< ticks a second of the timer that those kernels read

  /// Optional: what the device's monitor tells now.
  std::function<measure::DeviceState()> state;

  /// Optional: lets go of the device (context), after everything else was released.
  std::function<void()> close;
};

}  // namespace xtune::gpu
