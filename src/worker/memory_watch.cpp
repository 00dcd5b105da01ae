// A thread that queries the system regularly.
#include "worker/memory_watch.hpp"

#include <chrono>
#include <utility>

namespace xtune::worker {
namespace {

// A thread touches new memory at about 3 GB/s. A query takes about 20 us, less than a thousandth of this.
constexpr std::chrono::milliseconds interval{50};

}  // namespace

MemoryWatch::MemoryWatch(std::function<std::uint64_t()> held, std::function<void(std::uint64_t)> exceeded)
    : held_(std::move(held)), exceeded_(std::move(exceeded)), thread_([this] { look(); }) {}

MemoryWatch::~MemoryWatch() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void MemoryWatch::begin(std::uint64_t limit_bytes) {
  {
    const std::lock_guard lock(mutex_);
    limit_bytes_ = limit_bytes;
  }
  changed_.notify_all();
}

void MemoryWatch::end() {
  const std::lock_guard lock(mutex_);
  limit_bytes_.reset();
}

void MemoryWatch::look() {
  std::unique_lock lock(mutex_);
  while (!over_) {
    if (!limit_bytes_) {
      changed_.wait(lock, [this] { return over_ || limit_bytes_; });
      continue;
    }
    changed_.wait_for(lock, interval, [this] { return over_; });
    // With the lock held: end() waits, and the code that took the memory cannot send an answer.
    if (limit_bytes_ && !over_)
      if (const std::uint64_t bytes = held_(); bytes > *limit_bytes_) return exceeded_(bytes);
  }
}

}  // namespace xtune::worker
