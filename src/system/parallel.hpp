// Pieces of work in several threads, and objects with threads or locks after a fork.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace xtune::system {

/// Calls work(i) for each i below count, in any order, and returns when all calls are done. threads = 0: as many as the
/// machine has, up to 8. `work` must not throw.
template <class Work>
void for_each_index(std::size_t count, unsigned threads, const Work& work) {
  if (threads == 0) threads = std::min(8u, std::max(1u, std::thread::hardware_concurrency()));
  std::atomic<std::size_t> next{0};
  const auto loop = [&] {
    for (std::size_t i; (i = next++) < count;) work(i);
  };
  std::vector<std::jthread> others;
  try {
    for (std::size_t i = 1; i < std::min<std::size_t>(threads, count); ++i) others.emplace_back(loop);
  } catch (const std::system_error&) {  // no more threads for this process: those that exist do the work
  }
  loop();
}

/// std::sort; large inputs are sorted in parts in several threads. threads: as above. The comparison must not throw.
template <class T>
void sort_in_threads(std::vector<T>& items, unsigned threads) {
  constexpr std::size_t parts = 8, worth_it = 10'000;
  if (items.size() < worth_it || threads == 1) return std::sort(items.begin(), items.end());
  const auto at = [&](std::size_t part) {
    return items.begin() + static_cast<std::ptrdiff_t>(items.size() * std::min(part, parts) / parts);
  };
  for_each_index(parts, threads, [&](std::size_t i) { std::sort(at(i), at(i + 1)); });
  for (std::size_t step = 1; step < parts; step *= 2)
    for_each_index(parts / (2 * step), threads, [&](std::size_t i) {
      std::inplace_merge(at(2 * i * step), at((2 * i + 1) * step), at((2 * i + 2) * step));
    });
}

/// Calls body(begin, end) for pieces of up to `grain` that cover [0, count) exactly once, on as many threads as this
/// process may use cores. The pieces depend only on count and grain, so sums per piece are the same on any machine.
/// body must be safe to call from several threads; its first exception is rethrown here after all threads have ended.
/// For loops that take at least milliseconds: the threads are made for one loop.
inline void parallel_for(std::uint64_t count, std::uint64_t grain,
                         const std::function<void(std::uint64_t, std::uint64_t)>& body) {
  grain = std::max<std::uint64_t>(grain, 1);
  std::exception_ptr failure;
  std::once_flag failed_once;
  std::atomic<bool> failed{false};
  const auto work = [&](std::uint64_t piece) {
    if (failed) return;
    try {
      body(piece * grain, piece * grain + std::min(grain, count - piece * grain));
    } catch (...) {
      std::call_once(failed_once, [&] { failure = std::current_exception(); });
      failed = true;
    }
  };
  for_each_index(count / grain + (count % grain != 0), std::clamp(std::thread::hardware_concurrency(), 1u, 64u), work);
  if (failure) std::rethrow_exception(failure);
}

/// A T for each process: the child of a fork gets a new one when it first asks. The parent's copy is left as it is,
/// because the child can neither use nor destroy it. Any number of threads may ask.
template <class T>
class PerProcess {
 public:
  PerProcess() : held_(new Held) {}
  ~PerProcess() {
    Held* const held = held_.load(std::memory_order_acquire);
    if (held->owner == ::getpid()) delete held;
  }
  PerProcess(const PerProcess&) = delete;
  PerProcess& operator=(const PerProcess&) = delete;

  T& get() {
    Held* held = held_.load(std::memory_order_acquire);
    if (held->owner == ::getpid()) return held->value;
    auto fresh = std::make_unique<Held>(held);
    if (held_.compare_exchange_strong(held, fresh.get(), std::memory_order_acq_rel)) held = fresh.release();
    return held->value;
  }

 private:
  struct Held {
    explicit Held(const Held* before = nullptr) : of_parent(before) {}
    const pid_t owner = ::getpid();
    const Held* const of_parent;  // keeps the parent's object reachable for leak checkers
    T value;
  };
  std::atomic<Held*> held_;
};

}  // namespace xtune::system
