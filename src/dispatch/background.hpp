// One thread that does tasks one after the other, and gives up what is left when it ends.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace xtune::dispatch {

class Background {
 public:
  Background() = default;
  ~Background() { end(); }
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  /// The thread starts with the first task. Tasks must not throw.
  void add(std::function<void()> task) {
    const std::lock_guard lock(mutex_);
    if (ending_) return;
    tasks_.push_back(std::move(task));
    if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
    changed_.notify_all();
  }
  /// Until no task is left.
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return tasks_.empty() && !busy_; });
  }
  /// Drops what has not begun and waits for what has.
  void end() {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
      tasks_.clear();
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return !tasks_.empty() || ending_; });
      if (ending_) return;
      const std::function<void()> task = std::move(tasks_.front());
      tasks_.pop_front();
      busy_ = true;
      lock.unlock();
      task();
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
