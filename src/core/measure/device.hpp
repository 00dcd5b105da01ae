// The interfaces of a device that runs artifacts, and of its state and clock. All of them are single-threaded and live
// in one worker process.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include "core/build/artifact.hpp"
#include "core/device/device_info.hpp"
#include "core/device/launch.hpp"
#include "core/measure/tensor_map.hpp"
#include "core/measure/timer_overhead.hpp"
#include "xtune/dtype.hpp"
#include "xtune/outcome.hpp"

namespace xtune::measure {

/// Unset or empty members are not reported.
struct DeviceState {
  std::optional<double> max_clock_mhz;  ///< of the compute units
  std::optional<double> temperature_c;
  std::optional<double> power_w;
  std::optional<double> energy_j;                   ///< used since some moment in the past
  std::optional<std::uint64_t> uncorrected_errors;  ///< of its memory, since some moment in the past
  std::vector<std::string> throttling;              ///< reasons why it is slowed down now: "it is too hot"
  std::vector<int> processes;                       ///< ids of processes that compute on it, in an unknown namespace
  /// For a virtual machine: share of processor time that other machines took since the last state.
  std::optional<double> stolen_share;
  /// For kernels on the CPU, since the last state: share of their threads' time that they waited for CPUs.
  std::optional<double> lost_share;
  bool said_busy = false;  ///< the user says that other programs use the CPUs
};

/// One device's clock. Changing it needs privileges. Single-threaded.
class ClockLock {
 public:
  virtual ~ClockLock() = default;
  /// Fixes the clock at mhz, or for 0 at the device's own choice of a clock that it can always hold. Returns MHz.
  /// Throws Error and changes nothing: unavailable without permission, unsupported, or invalid_argument for a clock
  /// that the device does not have; the message states what to do.
  virtual int lock(int mhz) = 0;
  /// Lets the device choose its clock again. Throws Error(unavailable).
  virtual void unlock() = 0;
  /// The command that does the same as unlock().
  virtual std::string undo_command() const = 0;
};

/// Device memory, freed on destruction. Offsets and sizes in bytes; a range outside the buffer throws
/// std::out_of_range. Transfers are synchronous and throw CandidateFailure(crashed) if the device has failed.
class Buffer {
 public:
  virtual ~Buffer() = default;
  virtual std::size_t size() const noexcept = 0;
  virtual void* address() noexcept = 0;  ///< device pointer
  virtual void write(std::size_t offset, std::span<const std::byte> bytes) = 0;
  virtual void read(std::size_t offset, std::span<std::byte> bytes) = 0;
  virtual void fill(std::size_t offset, std::size_t size, std::byte value) = 0;
};

/// A scalar or struct passed by value, in the kernel's format.
struct ScalarArgument {
  /// An address within the value, which is known when the buffers are allocated.
  struct Pointer {
    std::size_t at = 0;        ///< where in the value, in bytes
    std::size_t argument = 0;  ///< the buffer's number among the configuration's arguments
    std::uint64_t offset = 0;  ///< into the buffer, in bytes
  };
  std::vector<std::byte> bytes;
  std::vector<Pointer> pointers{};
  bool in_memory = false;                 ///< a table: the kernel takes the address of these bytes on the device
  std::optional<std::size_t> replaces{};  ///< of some launches: the number of the argument in whose place it is
};
/// One kernel argument: a device pointer, a value, or a tensor map of a buffer. Buffers are used only during the call,
/// and owned only if they are tables of addresses.
using KernelArgument = std::variant<Buffer*, std::shared_ptr<Buffer>, ScalarArgument, EncodedTensorMap>;
/// nullptr: it is passed by value.
inline Buffer* buffer_of(const KernelArgument& argument) noexcept {
  if (Buffer* const* buffer = std::get_if<Buffer*>(&argument)) return *buffer;
  const auto* const table = std::get_if<std::shared_ptr<Buffer>>(&argument);
  return table ? table->get() : nullptr;
}
/// The bytes that a kernel takes for an argument that is passed by value; of a buffer none. The argument owns them.
inline std::span<const std::byte> value_bytes(const KernelArgument& argument) noexcept {
  if (const auto* scalar = std::get_if<ScalarArgument>(&argument)) return scalar->bytes;
  if (const auto* map = std::get_if<EncodedTensorMap>(&argument)) return map->bytes;
  return {};
}

/// What a spec says of an argument.
struct ArgumentType {
  std::string name;
  DType dtype = DType::f32;
  bool is_buffer = true;
  bool is_tensor_map = false;   ///< not a buffer; dtype is that of the elements
  std::size_t value_bytes = 0;  ///< of a struct or vector by value, which has no dtype; else 0
};

struct RunOptions {
  std::span<const KernelArgument> arguments;  ///< in kernel order
  bool timed = true;                          ///< false: launch and wait (warm-up, validation)
  std::size_t flush_bytes = 0;                ///< > 0: empty caches of this size first, outside the timed span
  /// Further launches immediately after the first, within the same timed span: each entry like `arguments`.
  std::span<const std::span<const KernelArgument>> more = {};
  /// The launches are one graph, except in the program's first run, in which a driver may have to load the kernels.
  bool graph = false;
  /// Filled with zeros before each launch (of several steps, before the first), within the timed span and the graph.
  std::span<Buffer* const> zeroed = {};
};

struct Sample {
  double time_ms = 0;      ///< of one launch, without the timer's overhead; the mean if there are several launches
  double overhead_ms = 0;  ///< overhead that was subtracted, per launch
  double clock_mhz = 0;    ///< of the compute units right after the kernel; 0: unknown
  bool late = false;       ///< the host was too slow to queue everything at once: the time may include launch latency
  /// Other values that a program reports, in the order of ProgramCall::metrics; empty for kernels.
  std::vector<double> reported = {};
};

/// How a device takes its times.
struct TimerInfo {
  TimerOverhead overhead;    ///< subtracted from every sample; zeros if unknown
  double empty_pair_ms = 0;  ///< measured span of two events with nothing between them; 0: unknown
  bool holds_queue = false;  ///< the timed work is completely queued before it starts
  std::string note;          ///< why some of this is missing; empty: nothing is missing
};

/// A loaded kernel with its launch, ready to run on its device.
class Program {
 public:
  virtual ~Program() = default;
  /// Launches once, or 1 + more.size() times, and waits. Throws CandidateFailure: launch_failed if the driver refuses
  /// the launch, crashed if the kernel faults (the device is then unusable and the worker must end).
  virtual Sample run(const RunOptions& options) = 0;
  /// Throws CandidateFailure(launch_failed) that names the first of these, in kernel order, that the kernel's signature
  /// is known not to take.
  virtual void check_types(std::span<const ArgumentType>) const {}
  /// Whether each run reports its own time, so that several runs in one sample would not make it more precise.
  virtual bool times_itself() const noexcept { return false; }
  /// The memory of one of the artifact's variables, by its number; not for use after the program. Throws
  /// CandidateFailure(launch_failed) where the image does not have it, std::out_of_range for a number beyond them.
  virtual std::unique_ptr<Buffer> variable(std::size_t /*number*/) {
    throw std::out_of_range("a program without variables");
  }
  /// For programs: checks the results of the last run as those of the first run were checked. Throws
  /// CandidateFailure(wrong_result). Kernels are checked through their buffers, elsewhere.
  virtual void check_last_run() {}
};

class Device {
 public:
  virtual ~Device() = default;
  virtual const device::DeviceInfo& info() const noexcept = 0;
  /// Uninitialised memory, aligned to 256 bytes. Throws Error(unavailable) if there is not enough memory.
  virtual std::unique_ptr<Buffer> allocate(std::size_t bytes) = 0;
  /// What messages about memory are to call a part of it ("argument 'x'"), where the device can name it.
  virtual void name_memory(const void* /*address*/, std::size_t /*bytes*/, const std::string& /*name*/) {}
  /// Throws CandidateFailure(rejected) if a device limit forbids the launch, launch_failed if loading fails.
  virtual std::unique_ptr<Program> load(const build::Artifact& artifact, const device::LaunchPlan& launch) = 0;
  /// The argument by which a kernel reads the buffer at this address. The map is not forbidden (tensor_map.hpp). Throws
  /// CandidateFailure(rejected) if the device has no tensor maps or refuses this one.
  virtual EncodedTensorMap encode(const TensorMap& /*map*/, void* /*address*/) {
    throw build::CandidateFailure(Outcome::rejected, info().name + " has no tensor maps");
  }
  /// May measure the overhead when it is first called.
  virtual TimerInfo timer() { return {}; }
  /// Why RunOptions::graph must not be set, and what to do; empty: it may be.
  virtual std::string lack_of_graphs() const {
    return "only the cuda and hip backends launch graphs, and this is " + info().backend;
  }
  /// The current state; takes up to a few milliseconds.
  virtual DeviceState state() { return {}; }
  /// Child processes of this process that live on between programs: the servers of programs.
  virtual std::vector<int> kept_processes() const { return {}; }
};

/// The first sample of `take` that is not late, of at most three; else the last.
template <class Take>
Sample punctual_sample(const Take& take) {
  constexpr int retakes = 2;
  Sample sample = take();
  for (int i = 0; sample.late && i < retakes; ++i) sample = take();
  return sample;
}

/// Bytes to overwrite before a launch that should find cold caches.
inline std::size_t flush_bytes(const device::DeviceInfo& device) {
  // Three times the cache: write-back caches with unusual replacement keep a part of a smaller overwrite.
  return static_cast<std::size_t>(std::max<std::int64_t>(device.l2_bytes, 4 << 20)) * 3;
}

}  // namespace xtune::measure
