// The operating-system threads that a device's kernels run on.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

namespace xtune::host {

/// Threads wait between calls and end with the pool. One caller at a time.
class ThreadPool {
 public:
  /// `size` threads, including the caller of run().
  explicit ThreadPool(unsigned size);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  unsigned size() const noexcept { return static_cast<unsigned>(threads_.size()) + 1; }
  /// Calls work(0) .. work(size - 1), each on its own thread, 0 on the caller's; returns when all have ended. work must
  /// not throw.
  void run(const std::function<void(unsigned worker)>& work);

 private:
  void wait_and_work(unsigned worker);

  std::vector<std::thread> threads_;
  const std::function<void(unsigned)>* work_ = nullptr;
  std::atomic<std::uint32_t> round_{0};  ///< incremented to start; the last round ends the threads
  std::atomic<std::uint32_t> unfinished_{0};
  std::atomic<bool> ending_{false};
};

}  // namespace xtune::host
