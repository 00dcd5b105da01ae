// Launching kernels in a process that owns its own contexts and streams: what dispatch needs of a backend.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/build/artifact.hpp"
#include "core/device/device_info.hpp"
#include "core/device/launch.hpp"

namespace xtune::backend {

/// The application's contexts; none is ever made here. Thread-safe.
class Contexts {
 public:
  virtual ~Contexts() = default;
  /// Names the context that the calling thread has now; 0: it has none. Cheap: it is asked at every launch.
  virtual std::uintptr_t current() noexcept = 0;
  /// Makes it the calling thread's; 0: the thread has none then. Throws Error(unavailable).
  virtual void adopt(std::uintptr_t context) = 0;
  /// The device of the current context. Throws Error(unavailable) where there is none, saying what to do.
  virtual device::DeviceInfo device() = 0;
};

/// Memory of a module, as long as that.
struct LoadedVariable {
  void* address = nullptr;
  std::size_t bytes = 0;
};

/// A kernel in the current context.
struct LoadedKernel {
  void* handle = nullptr;
  /// Bytes of each parameter in kernel order; nullopt: the driver does not tell.
  std::optional<std::vector<std::size_t>> parameter_bytes;
  std::vector<LoadedVariable> variables{};  ///< of the artifact, in its order
};

/// Thread-safe.
class Launcher {
 public:
  virtual ~Launcher() = default;
  /// Into the current context, where it stays as long as the process: a launch may still be in flight when whoever
  /// asked for it has gone. One artifact is loaded once for each context. Throws CandidateFailure: rejected when a
  /// limit of the device forbids the launch, launch_failed when the driver refuses the image.
  virtual LoadedKernel load(const build::Artifact& artifact, const device::Launch& launch) = 0;
  /// Queues one launch in a stream of the current context (the host runs it and waits). 0: done; else describe() says
  /// what is wrong.
  virtual int launch(void* handle, const device::Launch& launch, void* stream, void** parameters) noexcept = 0;
  /// The driver's words for a status of launch, on the thread that got it.
  virtual std::string describe(int status) = 0;
};

/// The application's memory. Thread-safe.
class ForeignMemory {
 public:
  virtual ~ForeignMemory() = default;
  /// How many bytes a kernel may touch from this address on; 0: none, it is no memory of a device; nullopt: not known.
  /// The host backend, where any address of the process may be one's own, looks no further than `wanted`.
  virtual std::optional<std::size_t> accessible_bytes(const void* address, std::size_t wanted) noexcept = 0;
  /// Whether the stream is being captured into a graph, so that nothing may wait for it.
  virtual bool is_capturing(void* stream) noexcept = 0;
  /// Waits for the stream, then copies. Throws Error(unavailable).
  virtual void read(void* host, const void* device, std::size_t bytes, void* stream) = 0;
  /// Waits for all that is queued in the current context, to which the memory belongs, then copies. Throws
  /// Error(unavailable).
  virtual void write(void* device, const void* host, std::size_t bytes) = 0;
  /// Waits for all that is queued in the memory's own context, whichever the thread has, then copies. Throws
  /// Error(invalid_argument) for an address that is no memory of a device, and where there are fewer bytes behind it;
  /// Error(unavailable) where the driver cannot.
  virtual void snapshot(void* host, const void* device, std::size_t bytes) = 0;
};

/// One for each backend and process.
class Runtime : public Contexts, public Launcher, public ForeignMemory {};

}  // namespace xtune::backend
