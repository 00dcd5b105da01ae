// A function of the application in the place of a kernel: its preparation as a compiler, its calls as a device's
// programs. The configuration arrives as the words of a program's build or call (tunable_spec.cpp).
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "core/device/device_info.hpp"
#include "core/measure/device.hpp"
#include "core/space/space.hpp"
#include "system/event_loop.hpp"
#include "worker/ipc/services.hpp"
#include "xtune/value.hpp"

namespace xtune {

/// Calls prepare with the configuration of each job, once for each key, on up to `jobs` threads, which begin with the
/// first jobs. An exception is the outcome compile_failed, except for Error(interrupted), which leaves the loop.
/// Artifacts are in the scratch directory of the run, because no other process can use them. Calls have no time limit,
/// and the destructor waits for those in progress.
class FunctionCompiler final : public run::CompileService {
 public:
  using Prepare = std::function<void(const Bindings& config)>;
  /// prepare: empty: nothing is to be done. The loop must outlive it.
  FunctionCompiler(system::EventLoop& loop, std::size_t jobs, std::vector<space::Parameter> parameters,
                   Prepare prepare);
  ~FunctionCompiler() override;
  FunctionCompiler(const FunctionCompiler&) = delete;
  FunctionCompiler& operator=(const FunctionCompiler&) = delete;

  void compile(const run::CompileJob& job, double timeout_s, Callback callback) override;
  std::size_t parallel() const noexcept override { return jobs_; }
  void cancel_all() override;

 private:
  struct Task {
    std::uint64_t number = 0;
    run::CompileJob job;
    Callback callback;
    run::CompileAnswer answer;
    std::exception_ptr interruption;
  };
  /// libuv's handle, which wakes the loop when a task is done, and keeps it waiting as long as some are not.
  struct Wake;

  void work();
  void run(Task& task) const;
  void deliver();

  system::EventLoop& loop_;
  const std::size_t jobs_;
  const std::vector<space::Parameter> parameters_;
  const Prepare prepare_;
  Wake* const wake_;  ///< deleted by the loop
  std::uint64_t first_wanted_ = 0, next_ = 0;
  std::size_t pending_ = 0;         ///< tasks that are wanted and not delivered
  std::set<std::string> prepared_;  ///< keys
  std::mutex mutex_;
  std::condition_variable changed_, idle_;
  std::size_t running_ = 0;
  std::deque<Task> waiting_;
  std::vector<Task> done_;
  bool ending_ = false;
  std::vector<std::thread> threads_;
};

/// Its programs call `timed` with their configuration and take the milliseconds that it returns; an exception is
/// CandidateFailure(launch_failed), except for Error(interrupted), which passes.
std::unique_ptr<measure::Device> make_function_device(device::DeviceInfo info, std::vector<space::Parameter> parameters,
                                                      std::function<double(const Bindings& config)> timed);

}  // namespace xtune
