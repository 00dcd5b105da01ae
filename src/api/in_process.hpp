// Measuring in the application's own process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/runtime.hpp"
#include "core/measure/device.hpp"
#include "worker/bench_session.hpp"
#include "worker/ipc/services.hpp"

namespace xtune {

/// The current device of this thread; nullopt: none, or the backend's driver is missing.
std::optional<int> current_device(const std::string& backend);

/// Restores this thread's current context on destruction.
class CurrentContext {
 public:
  explicit CurrentContext(const std::string& backend);
  ~CurrentContext();
  CurrentContext(const CurrentContext&) = delete;
  CurrentContext& operator=(const CurrentContext&) = delete;

 private:
  const std::shared_ptr<backend::Runtime> runtime_;
  const std::uintptr_t context_;
};

/// A BenchService without a worker: each job is done completely within one turn of the loop. Nothing can be stopped, so
/// there are no timeouts. Once a kernel has faulted the context is lost, and every later job throws Error(unavailable)
/// out of the loop.
class InProcessBenchService final : public run::BenchService {
 public:
  using OpenDevice = std::function<std::unique_ptr<measure::Device>(int index)>;
  InProcessBenchService(system::EventLoop& loop, OpenDevice open_device);
  ~InProcessBenchService() override;
  void set_problem(run::Problem problem) override;
  void bench(const run::BenchJob& job, double timeout_s, Callback callback) override;
  void measure_rounds(const run::RoundsJob& job, double timeout_s, RoundsCallback callback) override;
  void cancel_all() override;

 private:
  worker::BenchSession& session();
  /// Posts the job, and calls back with the session's answer unless it is cancelled before.
  template <class Answer, class Job>
  void later(Answer (worker::BenchSession::*measure)(const Job&), const Job& job, std::function<void(Answer)> callback);
  system::EventLoop& loop_;
  OpenDevice open_device_;
  run::Problem problem_;
  std::unique_ptr<measure::Device> device_;
  std::unique_ptr<worker::BenchSession> session_;
  std::shared_ptr<bool> wanted_;  ///< false: the pending job was cancelled
  bool lost_ = false;
};

}  // namespace xtune
