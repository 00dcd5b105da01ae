// What has threads or locks, and must not be used by the child of a fork, in which those threads are not.
#pragma once

#include <unistd.h>

#include <atomic>
#include <memory>
#include <utility>

namespace xtune::base {

/// A T of the process's own: the child of a fork gets a fresh one when it first asks, and leaves its parent's as it was
/// copied, for that can neither be used nor destroyed there. Any number of threads may ask.
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
    const Held* const of_parent;  // within reach of a leak checker, for it is not lost but somebody else's
    T value;
  };
  std::atomic<Held*> held_;
};

}  // namespace xtune::base
