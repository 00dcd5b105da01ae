// The interfaces of a device that runs artifacts. All of them single-threaded, living in one worker process.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <variant>
#include <vector>

#include "core/build/artifact.hpp"
#include "core/device/device_info.hpp"
#include "core/device/launch.hpp"

namespace xtune {

/// Device memory, freed on destruction. Offsets and sizes in bytes; a range outside the buffer throws std::out_of_range.
/// Transfers are synchronous and throw CandidateFailure(crashed) when the device has failed.
class Buffer {
 public:
  virtual ~Buffer() = default;
  virtual std::size_t size() const noexcept = 0;
  virtual void* address() noexcept = 0;  ///< device pointer
  virtual void write(std::size_t offset, std::span<const std::byte> bytes) = 0;
  virtual void read(std::size_t offset, std::span<std::byte> bytes) = 0;
  virtual void fill(std::size_t offset, std::size_t size, std::byte value) = 0;
};

/// A scalar passed by value, already encoded in the argument's type.
struct ScalarArgument {
  std::array<std::byte, 16> bytes{};
  std::size_t size = 0;
};
/// One kernel argument: a device pointer, or a scalar. Buffers are borrowed for the call.
using KernelArgument = std::variant<Buffer*, ScalarArgument>;

struct RunOptions {
  std::span<const KernelArgument> arguments;  ///< in kernel order
  bool timed = true;                          ///< false: launch and wait (warm-up, validation)
  std::size_t flush_bytes = 0;                ///< > 0: overwrite this much other memory first, outside the timed span
};

/// One launch.
struct Sample {
  double time_ms = 0;
};

/// A loaded kernel with its launch, ready to run on its device.
class Program {
 public:
  virtual ~Program() = default;
  /// Launches once and waits. Throws CandidateFailure: launch_failed when the driver refuses it, crashed when the kernel faults
  /// (the device is then unusable and the worker must end).
  virtual Sample run(const RunOptions& options) = 0;
};

class Device {
 public:
  virtual ~Device() = default;
  virtual const DeviceInfo& info() const noexcept = 0;
  /// Uninitialised memory, aligned to 256 bytes. Throws Error(unavailable) when memory is short.
  virtual std::unique_ptr<Buffer> allocate(std::size_t bytes) = 0;
  /// Throws CandidateFailure(rejected) when a device limit forbids the launch, launch_failed when loading fails.
  virtual std::unique_ptr<Program> load(const Artifact& artifact, const Launch& launch) = 0;
};

}  // namespace xtune
