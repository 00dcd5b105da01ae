// A queue of requests over several worker processes of one kind.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "ipc/worker_process.hpp"

namespace xtune::ipc {

/// Waiting jobs of unknown length start first, then the longest, so that the last to run are short and the workers end
/// together; equal ones start in the order of arrival. Processes are started when there is work for them, and those
/// already running are used first. A worker whose process cannot be started three times in a row fails its job with
/// could_not_start and retires; once all have retired, every queued and later job fails with the last reason. Lives on
/// the loop's thread; callbacks may submit, cancel_all or destroy the pool.
class WorkerPool {
 public:
  using Callback = WorkerProcess::Callback;
  /// The command of worker `index` (0 .. size-1).
  using CommandFactory = std::function<WorkerCommand(std::size_t index)>;

  /// Whether one more job may run beside `running` others. Called when a job waits and a worker is idle, but not if
  /// none runs.
  using Admission = std::function<bool(std::size_t running)>;

  /// Gets all commands now but starts nothing. Throws Error(invalid_argument) for size 0.
  WorkerPool(system::EventLoop& loop, std::size_t size, const CommandFactory& factory, Admission admits = {});
  ~WorkerPool();  ///< as cancel_all()
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  /// `callback` is called exactly once, never from inside submit(), unless cancel_all() is called before. timeout_s is
  /// for each job, from the moment its worker has it; expected_s only affects the order of the queue. Throws Error(io)
  /// for a message above the limit.
  void submit(const nlohmann::json& message, double timeout_s, Callback callback,
              std::optional<double> expected_s = {});
  /// The same for a job that runs on its own. It is next: no other job starts until it has ended.
  void submit_alone(const nlohmann::json& message, double timeout_s, Callback callback);
  /// Kills the busy workers' groups and drops queued jobs; the callbacks of those jobs are not called. The pool stays
  /// usable.
  void cancel_all() noexcept;

  std::size_t size() const noexcept;
  std::size_t busy() const noexcept;    ///< number of jobs in a worker
  std::size_t queued() const noexcept;  ///< number of waiting jobs

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace xtune::ipc
