// uv_async_send is the only call of libuv that is allowed on other threads.
#include "api/stoppable_loop.hpp"

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

}  // namespace xtune
