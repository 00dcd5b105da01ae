// A GPU, its memory and its loaded kernels, over the table of driver calls.
#pragma once

#include <memory>

#include "backends/gpu/driver_api.hpp"
#include "backends/gpu/queue_timer.hpp"

namespace xtune::gpu {

/// What a device shares with its buffers and programs; the last of them to go releases it.
class Session {
 public:
  /// Takes over `api` (and closes it) even when this throws Error(unavailable).
  Session(DriverApi api, device::DeviceInfo info);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  const DriverApi& api() const noexcept { return api_; }
  const device::DeviceInfo& info() const noexcept { return info_; }
  Stream stream() const noexcept { return stream_; }
  Event start() const noexcept { return start_; }
  Event stop() const noexcept { return stop_; }

  /// Made at the first call; throws what its making throws.
  QueueTimer& timer();
  /// Device memory of at least `bytes` that flushing overwrites; grows, never shrinks. Throws Error(unavailable).
  void* flush_memory(std::size_t bytes);
  /// Queues the overwriting of that much of it.
  void flush(std::size_t bytes);
  /// Throws CandidateFailure(crashed), or Error(unavailable) naming `what` and the size when memory is short.
  void* allocate(std::size_t bytes, const char* what);
  /// Throws CandidateFailure(crashed) with the driver's words unless status is success; ShortageFailure where the
  /// machine is to blame.
  void check(Status status, const char* doing) const;
  /// As check, but a failure that leaves the device usable is a launch_failed.
  void check_launch(Status status, const char* doing) const;

 private:
  [[noreturn]] void fail(Status status, Outcome outcome, const char* doing) const;
  void release() noexcept;

  DriverApi api_;
  device::DeviceInfo info_;
  Stream stream_ = nullptr;
  Event start_ = nullptr, stop_ = nullptr;
  void* flush_ = nullptr;
  std::size_t flush_bytes_ = 0;
  std::unique_ptr<QueueTimer> timer_;
};

/// Throws Error(unavailable) when the device does not answer.
std::unique_ptr<measure::Device> make_device(DriverApi api, device::DeviceInfo info);

/// For make_device's result alone.
std::unique_ptr<measure::Buffer> make_buffer(std::shared_ptr<Session> session, std::size_t bytes);
/// Of memory that belongs to a module and lives as long as that.
std::unique_ptr<measure::Buffer> make_view(std::shared_ptr<Session> session, void* address, std::size_t bytes);
std::unique_ptr<measure::Program> make_program(std::shared_ptr<Session> session, const build::Artifact& artifact,
                                               const device::Launch& launch);

}  // namespace xtune::gpu
