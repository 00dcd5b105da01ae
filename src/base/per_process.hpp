// Objects with threads or locks, which the child of a fork must not use, because their threads do not exist there.
#pragma once

#include <unistd.h>

#include <atomic>
#include <memory>
#include <utility>

namespace xtune::base {

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

}  // namespace xtune::base
