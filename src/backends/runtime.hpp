// Launching kernels in a process with its own contexts and streams: the backend's interface for dispatch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/workspaces.hpp"
#include "core/build/artifact.hpp"
#include "core/device/device_info.hpp"
#include "core/device/launch.hpp"
#include "core/measure/tensor_map.hpp"
#include "xtune/error.hpp"
#include "xtune/outcome.hpp"

namespace xtune::backend {

/// The application's contexts; the library creates none. Thread-safe.
class Contexts {
 public:
  virtual ~Contexts() = default;
  /// Identifies the current context of the calling thread; 0: none. Cheap, as it is called at every launch.
  virtual std::uintptr_t current() noexcept = 0;
  /// Makes it the calling thread's current context; 0: none. Throws Error(unavailable).
  virtual void adopt(std::uintptr_t context) = 0;
  /// The device of the current context. Throws Error(unavailable), with advice, if there is no context.
  virtual device::DeviceInfo device() = 0;
};

/// Memory of a module, as long as that.
struct LoadedVariable {
  void* address = nullptr;
  std::size_t bytes = 0;
};

/// One kernel of an artifact, in the current context.
struct LoadedKernel {
  void* handle = nullptr;
  /// Bytes of each parameter in kernel order; nullopt: unknown to the driver.
  std::optional<std::vector<std::size_t>> parameter_bytes;
  std::vector<LoadedVariable> variables{};  ///< of the artifact, in its order
};

/// Loads and launches kernels. Thread-safe.
class Launcher {
 public:
  virtual ~Launcher() = default;
  /// Whether load() understands the artifact's format. The host backend's changes between versions of xtune.
  virtual bool understands(const build::Artifact&) const noexcept { return true; }
  /// Loads into the current context until the process ends: a launch may still be in flight when its caller is gone. An
  /// artifact is loaded once for each context. number: the kernel's, among the artifact's entries. Throws
  /// CandidateFailure: rejected if a limit of the device forbids the launch, launch_failed if the driver refuses the
  /// image.
  virtual LoadedKernel load(const build::Artifact& artifact, const device::Launch& launch, std::size_t number) = 0;
  /// A kernel's argument for the memory at this address; as of measure::Device.
  virtual measure::EncodedTensorMap encode(const measure::TensorMap& /*map*/, void* /*address*/) {
    throw build::CandidateFailure(Outcome::rejected, "this backend has no tensor maps");
  }
  /// Queues one launch in a stream of the current context (the host runs it and waits). Returns 0, or a status for
  /// describe().
  virtual int launch(void* handle, const device::Launch& launch, void* stream, void** parameters) noexcept = 0;
  /// The driver's message for a status of launch, on the thread that received it.
  virtual std::string describe(int status) = 0;
};

/// The application's memory. Thread-safe.
class ForeignMemory {
 public:
  virtual ~ForeignMemory() = default;
  /// The number of bytes from this address on that a kernel may access; 0: it is not device memory; nullopt: unknown.
  /// The host backend, for which any address of the process may be valid, checks only the first `wanted` bytes.
  virtual std::optional<std::size_t> accessible_bytes(const void* address, std::size_t wanted) noexcept = 0;
  /// Makes the memory's context the thread's current one, if the thread has none: some libraries (JAX) leave none
  /// current. False: nothing changed: the thread has a context, or the memory's is unknown. Throws Error(unavailable).
  virtual bool enter_context_of(const void* /*address*/) { return false; }
  /// Waits for the stream, then copies. Throws Error(unavailable).
  virtual void read(void* host, const void* device, std::size_t bytes, void* stream) = 0;
  /// Waits for all that is queued in the current context, to which the memory belongs, then copies. Throws
  /// Error(unavailable).
  virtual void write(void* device, const void* host, std::size_t bytes) = 0;
  /// Waits for all queued work in the context of the memory, regardless of the thread's context, then copies. Throws
  /// Error(invalid_argument) for an address that is not device memory, or if there are fewer bytes; Error(unavailable)
  /// if the driver cannot copy.
  virtual void snapshot(void* host, const void* device, std::size_t bytes) = 0;
};

/// Streams, and memory whose uses they order. Thread-safe.
class Streams {
 public:
  Streams()
      : workspaces_(
            [this](std::size_t bytes, void* stream, bool captured) { return allocate(bytes, stream, captured); }) {}
  virtual ~Streams() = default;
  /// Of launches in this stream by the calling thread. Cheap, as it may be called at every launch.
  virtual Queue queue_of(void* stream) noexcept = 0;
  /// Whether the stream is being captured into a graph, so that no call may wait for it.
  bool is_capturing(void* stream) noexcept { return queue_of(stream).capture != 0; }
  /// Whether it is known to belong to another context than the current one. For messages: it may be slow.
  virtual bool is_foreign(void* /*stream*/) noexcept { return false; }
  /// Queues zeros. Returns 0, or a status for describe().
  virtual int zero(void* address, std::size_t bytes, void* stream) noexcept = 0;
  /// The library's memory for what launches compute on the way, aligned to 256 bytes.
  Workspaces& workspaces() noexcept { return workspaces_; }

 private:
  /// As Workspaces::Allocate.
  virtual std::shared_ptr<void> allocate(std::size_t bytes, void* stream, bool captured) = 0;
  Workspaces workspaces_;
};

/// Times launches as tuning does: single ones, after the caches were flushed, by the device's clock. For one thread,
/// and for the context that was current when it was made.
class LaunchTimer {
 public:
  virtual ~LaunchTimer() = default;
  /// Milliseconds of what work queues in the stream that it gets. Exceptions of work pass. Throws CandidateFailure if
  /// the device fails.
  virtual double time_ms(const std::function<void(void* stream)>& work) = 0;
};

/// One object for each backend in a process.
class Runtime : public Contexts, public Launcher, public ForeignMemory, public Streams {
 public:
  /// A timer for the current context. Throws Error(unavailable) without a context or memory for it, Error(unsupported)
  /// if the backend has none.
  virtual std::unique_ptr<LaunchTimer> make_timer() {
    throw Error(ErrorKind::unsupported, "this backend cannot time launches in the application's context");
  }
};

}  // namespace xtune::backend
