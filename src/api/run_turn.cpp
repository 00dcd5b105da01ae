// Two runs at a time would disturb each other's measurements.
#include "api/run_turn.hpp"

#include <condition_variable>
#include <mutex>

#include "system/parallel.hpp"
#include "xtune/error.hpp"

namespace xtune {

StoppableLoop::StoppableLoop(const std::stop_token& token, const std::function<void()>& poll) : wake_{}, poll_(poll) {
  if (uv_async_init(loop_.raw(), &wake_, [](uv_async_t*) {}) != 0)
    throw Error(ErrorKind::io, "cannot watch the stop token: too many open files?");
  uv_unref(reinterpret_cast<uv_handle_t*>(&wake_));
  callback_.emplace(token, [this] {
    stop_ = true;
    uv_async_send(&wake_);
  });
  if (poll_) poll_later();
}

void StoppableLoop::poll_later() {
  next_poll_ = loop_.call_aside(poll_interval.count(), [this] {
    poll_later();
    poll_();
  });
}

namespace {

struct Turn {
  std::mutex mutex;
  std::condition_variable_any changed;
  bool taken = false;
};

/// Never destroyed: threads may still run at the end of the program, and wait for their turn.
Turn& turn() {
  static auto& turn = *new system::PerProcess<Turn>;
  return turn.get();
}

thread_local bool taken_here = false;

}  // namespace

RunTurn::RunTurn(const std::stop_token& stop, const std::function<void()>& poll) {
  if (taken_here)
    throw Error(ErrorKind::invalid_argument,
                "a callback of a run asked for another run; start it once the first one has returned");
  Turn& shared = turn();
  std::unique_lock lock(shared.mutex);
  const auto is_free = [&] { return !shared.taken; };
  while (poll && !stop.stop_requested() &&
         !shared.changed.wait_for(lock, stop, StoppableLoop::poll_interval, is_free)) {
    lock.unlock();
    poll();
    lock.lock();
  }
  if (!shared.changed.wait(lock, stop, is_free) || stop.stop_requested())
    throw Error(ErrorKind::interrupted, "stopped before the run began");
  shared.taken = taken_here = true;
}

RunTurn::~RunTurn() {
  Turn& shared = turn();
  {
    const std::lock_guard lock(shared.mutex);
    shared.taken = taken_here = false;
  }
  shared.changed.notify_all();
}

}  // namespace xtune
