// A GPU, its memory and its loaded kernels, over the table of driver calls.
#pragma once

#include <memory>

#include "backends/gpu/driver_api.hpp"
#include "backends/gpu/queue_timer.hpp"

namespace xtune::gpu {

/// State that a device shares with its buffers and programs; released with the last of them.
class Session {
 public:
  /// Takes ownership of `api` (and closes it) even if this throws Error(unavailable).
  Session(DriverApi api, device::DeviceInfo info);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  const DriverApi& api() const noexcept { return api_; }
  const device::DeviceInfo& info() const noexcept { return info_; }
  Stream stream() const noexcept { return stream_; }
  Event start() const noexcept { return start_; }
  Event stop() const noexcept { return stop_; }

  /// Created at the first call, with the exceptions of its constructor.
  QueueTimer& timer();
  /// Device memory of at least `bytes` for flushing; grows, never shrinks. Throws Error(unavailable).
  void* flush_memory(std::size_t bytes);
  /// Queues overwriting `bytes` of it.
  void flush(std::size_t bytes);
  /// Throws CandidateFailure(crashed), or Error(unavailable) with `what` and the size if there is not enough memory.
  void* allocate(std::size_t bytes, const char* what);
  /// Throws CandidateFailure(crashed) with the driver's message unless status is success; ShortageFailure if the
  /// machine is the cause.
  void check(Status status, const char* doing) const;
  /// Like check, but a failure after which the device is usable is a launch_failed.
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

/// Throws Error(unavailable) if the device does not respond.
std::unique_ptr<measure::Device> make_device(DriverApi api, device::DeviceInfo info);

}  // namespace xtune::gpu
