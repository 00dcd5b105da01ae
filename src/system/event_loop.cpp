// Timers, signals and posted calls over libuv.
#include "system/event_loop.hpp"

#include <fcntl.h>
#include <unistd.h>
#include <uv.h>

#include <cerrno>
#include <csignal>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "system/descriptor.hpp"
#include "xtune/error.hpp"

namespace xtune::system {

namespace {

/// Lets this thread receive SIGCHLD during its lifetime. Launchers start programs with signals blocked, and the ends of
/// children would then never be noticed.
class ReceiveChildSignal {
 public:
  ReceiveChildSignal() noexcept {
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    pthread_sigmask(SIG_UNBLOCK, &child, &before_);
  }
  ~ReceiveChildSignal() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  ReceiveChildSignal(const ReceiveChildSignal&) = delete;
  ReceiveChildSignal& operator=(const ReceiveChildSignal&) = delete;

 private:
  sigset_t before_;
};

/// libuv ends the program if it gets the number of a standard stream for a file that it opens.
void fill_standard_streams() {
  for (int stream = 0; stream <= 2; ++stream)
    if (::fcntl(stream, F_GETFD) < 0 && errno == EBADF) {
      // The lowest free number is that of a closed standard stream, or one that another thread has just freed.
      const int fd = ::open("/dev/null", O_RDWR);
      if (fd > 2) ::close(fd);
    }
}

}  // namespace

struct EventLoop::State {
  uv_loop_t loop;
  uv_idle_t idle;  // active while calls are posted: keeps the loop from waiting
  uv_timer_t reap_deadline;
  std::vector<std::function<void()>> posted;
  std::exception_ptr thrown;
};

struct EventLoop::Watch::State {
  union {
    uv_handle_t handle;
    uv_timer_t timer;
    uv_signal_t signal;
  };
  EventLoop* owner = nullptr;
  std::function<void()> callback;
  bool once = false;
  std::shared_ptr<State> self;  // libuv needs the memory until its close callback has run

  State() : handle{} {}

  void close() noexcept {
    if (!self || uv_is_closing(&handle)) return;
    uv_close(&handle,
             [](uv_handle_t* closed) { std::exchange(static_cast<State*>(closed->data)->self, nullptr).reset(); });
  }

  void fire() noexcept {
    // The callback may cancel or destroy its own Watch, so the function that is called must not live in it.
    const std::shared_ptr<State> keep = self;
    if (once) close();
    std::function<void()> call = once ? std::exchange(callback, nullptr) : callback;
    owner->guarded(call);
  }
};

EventLoop::Watch& EventLoop::Watch::operator=(Watch&& other) noexcept {
  if (this == &other) return *this;
  cancel();
  state_ = std::move(other.state_);
  return *this;
}

void EventLoop::Watch::cancel() noexcept {
  const std::shared_ptr<State> state = std::exchange(state_, nullptr);
  if (!state) return;
  state->close();
  state->callback = nullptr;
}

bool EventLoop::Watch::active() const noexcept { return state_ && state_->self && !uv_is_closing(&state_->handle); }

namespace {

/// libuv gets notice of children by its own handler for SIGCHLD. When the last loop is gone, it sets the signal's
/// default action: this class restores the handler that the program had before.
class ChildSignal {
 public:
  void first_use() {
    const std::lock_guard lock(mutex_);
    if (loops_++ == 0) sigaction(SIGCHLD, nullptr, &before_);
  }
  void last_use() noexcept {
    const std::lock_guard lock(mutex_);
    struct sigaction now {};
    if (--loops_ > 0 || sigaction(SIGCHLD, nullptr, &now) != 0 || !is_default(now) || is_default(before_)) return;
    sigaction(SIGCHLD, &before_, nullptr);
    // Children of the program's own code may have ended meanwhile.
    if (before_.sa_handler != SIG_IGN) ::kill(::getpid(), SIGCHLD);
  }

 private:
  static bool is_default(const struct sigaction& action) {
    return (action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == SIG_DFL;
  }
  std::mutex mutex_;
  std::size_t loops_ = 0;
  struct sigaction before_ {};
};

ChildSignal& child_signal() {
  static ChildSignal one;
  return one;
}

bool waits_for_children(uv_loop_t* loop) noexcept {
  bool found = false;
  const auto look = [](uv_handle_t* handle, void* result) {
    if (uv_handle_get_type(handle) == UV_PROCESS && uv_is_active(handle)) *static_cast<bool*>(result) = true;
  };
  uv_walk(loop, look, &found);
  return found;
}

}  // namespace

EventLoop::EventLoop() : state_(std::make_unique<State>()) {
  fill_standard_streams();
  if (const int failed = uv_loop_init(&state_->loop))
    throw Error(ErrorKind::io, std::string("cannot make an event loop: ") + uv_strerror(failed));
  child_signal().first_use();
  state_->loop.data = this;
  uv_idle_init(&state_->loop, &state_->idle);
  state_->idle.data = this;
}

EventLoop::~EventLoop() {
  const WriteSignals quiet;
  uv_loop_t* loop = &state_->loop;
  uv_close(reinterpret_cast<uv_handle_t*>(&state_->idle), nullptr);
  // Destroyed subprocesses are killed but not yet reaped: they would remain zombies as long as this process lives.
  uv_timer_t* deadline = &state_->reap_deadline;
  uv_timer_init(loop, deadline);
  uv_timer_start(
      deadline, [](uv_timer_t*) {}, 1000, 0);
  const ReceiveChildSignal children;
  while (waits_for_children(loop) && uv_is_active(reinterpret_cast<uv_handle_t*>(deadline))) uv_run(loop, UV_RUN_ONCE);
  // Close callbacks of destroyed objects on the loop free their memory.
  const auto close = [](uv_handle_t* handle, void*) {
    if (!uv_is_closing(handle)) uv_close(handle, nullptr);
  };
  do uv_walk(loop, close, nullptr);
  while (uv_run(loop, UV_RUN_NOWAIT));
  uv_loop_close(loop);
  child_signal().last_use();
}

bool EventLoop::turn(int mode) {
  const ReceiveChildSignal children;
  const WriteSignals quiet;  // a worker may die while it is written to
  const bool more = uv_run(&state_->loop, static_cast<uv_run_mode>(mode)) != 0;
  if (state_->thrown) std::rethrow_exception(std::exchange(state_->thrown, nullptr));
  return more;
}

bool EventLoop::run_once() { return turn(UV_RUN_ONCE); }
bool EventLoop::run_ready() { return turn(UV_RUN_NOWAIT); }

void EventLoop::run() {
  run_until([] { return false; });
}

bool EventLoop::run_until(const std::function<bool()>& done) {
  while (!done())
    if (!turn(UV_RUN_ONCE)) return done();
  return true;
}

EventLoop::Watch EventLoop::call_after(std::uint64_t ms, std::function<void()> callback) {
  auto state = std::make_shared<Watch::State>();
  state->owner = this;
  state->callback = std::move(callback);
  state->once = true;
  uv_timer_init(&state_->loop, &state->timer);
  state->timer.data = state.get();
  state->self = state;
  // The loop's time is that of the start of this turn. If a callback has computed for a second since, the wait would be
  // that much too short.
  uv_update_time(&state_->loop);
  uv_timer_start(
      &state->timer, [](uv_timer_t* timer) { static_cast<Watch::State*>(timer->data)->fire(); }, ms, 0);
  return Watch(std::move(state));
}

EventLoop::Watch EventLoop::call_aside(std::uint64_t ms, std::function<void()> callback) {
  Watch watch = call_after(ms, std::move(callback));
  uv_unref(&watch.state_->handle);
  return watch;
}

EventLoop::Watch EventLoop::on_signal(int signum, std::function<void()> callback) {
  auto state = std::make_shared<Watch::State>();
  state->owner = this;
  state->callback = std::move(callback);
  uv_signal_init(&state_->loop, &state->signal);
  state->signal.data = state.get();
  state->self = state;
  const int failed = uv_signal_start(
      &state->signal, [](uv_signal_t* signal, int) { static_cast<Watch::State*>(signal->data)->fire(); }, signum);
  if (failed) {
    state->close();
    throw Error(ErrorKind::invalid_argument,
                "cannot watch for signal " + std::to_string(signum) + ": " + uv_strerror(failed));
  }
  uv_unref(&state->handle);
  return Watch(std::move(state));
}

void EventLoop::post(std::function<void()> callback) {
  state_->posted.push_back(std::move(callback));
  uv_idle_start(&state_->idle, [](uv_idle_t* idle) {
    auto* loop = static_cast<EventLoop*>(idle->data);
    // Calls that these calls post belong to the next turn; an endless chain of posts must not block everything else.
    std::vector<std::function<void()>> calls = std::exchange(loop->state_->posted, {});
    uv_idle_stop(idle);
    for (const auto& call : calls) loop->guarded(call);
  });
}

std::int64_t EventLoop::now_ms() const noexcept { return static_cast<std::int64_t>(uv_hrtime() / 1000000); }

uv_loop_s* EventLoop::raw() noexcept { return &state_->loop; }

void EventLoop::guarded(const std::function<void()>& body) noexcept {
  // Timers and posted calls run before libuv waits for the rest of the turn. Since something has happened, this turn
  // must not wait.
  uv_stop(&state_->loop);
  try {
    if (body) body();
  } catch (...) {
    // If there are several in one turn, the first one is the cause.
    if (!state_->thrown) state_->thrown = std::current_exception();
  }
}

}  // namespace xtune::system
