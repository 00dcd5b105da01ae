// Watches the memory of a process while unknown code runs in it.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

namespace xtune::worker {

/// A limit of the address space cannot replace this: drivers and sanitizers map far more than they use.
class MemoryWatch {
 public:
  /// exceeded: called once, on the watch's own thread, with the bytes in use; it must end the process. held: returns
  /// the bytes that this process uses now.
  MemoryWatch(std::function<std::uint64_t()> held, std::function<void(std::uint64_t bytes)> exceeded);
  ~MemoryWatch();
  MemoryWatch(const MemoryWatch&) = delete;
  MemoryWatch& operator=(const MemoryWatch&) = delete;

  /// Limits the memory of the process until end().
  void begin(std::uint64_t limit_bytes);
  /// Does not return if `exceeded` has been called.
  void end();

 private:
  void look();
  const std::function<std::uint64_t()> held_;
  const std::function<void(std::uint64_t)> exceeded_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<std::uint64_t> limit_bytes_;  ///< set between begin() and end()
  bool over_ = false;
  std::thread thread_;
};

}  // namespace xtune::worker
