// Tuning of new problems: its result, and one thread that does tasks one after the other, for tuning in the background.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <thread>

#include "core/build/artifact.hpp"
#include "core/store/record.hpp"

namespace xtune::dispatch {

struct Tuned {
  std::optional<store::Record> winner;      ///< unset: no configuration passed
  std::optional<build::Artifact> artifact;  ///< the winner's; unset: it was lost
  std::string not_kept;                     ///< why these are not in the store; empty: they are
  std::set<Bindings> failed;  ///< without a winner: the configurations that were tried, all of which failed
  std::string failures;       ///< numbers of failures by outcome, and the first failure's message
};

/// Tunes a problem on a device, and stores the results. May throw Error; ends soon after it is asked to stop.
using Tuner =
    std::function<Tuned(const Bindings& problem, const device::DeviceInfo& device, const std::stop_token& stop)>;

/// A problem for which a tuning run has proved configurations wrong, and none right.
struct Failure {
  std::set<Bindings> configs;
  std::string message;
};

/// The default configuration was proved wrong.
struct ProvenWrong : Error {
  using Error::Error;
};

/// One thread that does tasks one after the other. Tasks must not throw.
class Background {
 public:
  ~Background() { end(); }

  /// The thread starts with the first task.
  void add(std::function<void()> task) {
    const std::lock_guard lock(mutex_);
    if (ending_) return;
    tasks_.push_back(std::move(task));
    if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
    changed_.notify_all();
  }
  /// Waits until no task remains. Do not call it from a task.
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return tasks_.empty() && !busy_; });
  }
  /// Drops tasks that have not started and waits for the running one. Do not call it from a task.
  void end() {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
      tasks_.clear();
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
  }
  /// Whether the caller is a task.
  bool is_here() {
    const std::lock_guard lock(mutex_);
    return thread_.get_id() == std::this_thread::get_id();
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return !tasks_.empty() || ending_; });
      if (ending_) return;
      {
        const std::function<void()> task = std::move(tasks_.front());
        tasks_.pop_front();
        busy_ = true;
        lock.unlock();
        task();
      }
      lock.lock();
      busy_ = false;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  bool busy_ = false, ending_ = false;
  std::thread thread_;
};

}  // namespace xtune::dispatch
