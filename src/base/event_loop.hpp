// One thread's event loop over libuv: timers, signals, posted calls; subprocesses live on it.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>

struct uv_loop_s;

namespace xtune::base {

/// Single-threaded: everything on a loop, callbacks included, happens on the thread that runs it. An exception that
/// leaves a callback stops the loop and comes out of the run() that was on the stack. Callbacks are called under
/// WriteSignals. SIGCHLD is the loops' own as long as there are any; then the program's handler is back. Everything
/// that lives on a loop is destroyed before it.
class EventLoop {
 public:
  /// Keeps a timer or a signal watched; destruction cancels, also from inside its own callback.
  class [[nodiscard]] Watch {
   public:
    Watch() = default;
    ~Watch() { cancel(); }
    Watch(Watch&&) noexcept = default;
    Watch& operator=(Watch&& other) noexcept;
    void cancel() noexcept;        ///< its callback is never called again; harmless when repeated
    bool active() const noexcept;  ///< false once fired (timers), cancelled or empty

   private:
    friend class EventLoop;
    struct State;
    explicit Watch(std::shared_ptr<State> state) noexcept : state_(std::move(state)) {}
    std::shared_ptr<State> state_;
  };

  EventLoop();
  ~EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  /// Waits for at least one event and handles what is there. False when nothing is left to wait for.
  bool run_once();
  /// Handles what is there now, without waiting. False when nothing is left to wait for.
  bool run_ready();
  /// Until stop(), or until nothing is left to wait for (signals alone keep no loop running).
  void run();
  /// Until done() holds, asked after every event. Returns done(): false means that nothing is left to wait for.
  bool run_until(const std::function<bool()>& done);
  /// Makes the run() or run_until() on the stack return after the current callbacks. Without one it does nothing.
  void stop() noexcept;

  /// Once, in `ms` milliseconds from now (0: at the next turn).
  Watch call_after(std::uint64_t ms, std::function<void()> callback);
  /// The same for what only accompanies the work: no loop runs, or waits, for this alone.
  Watch call_aside(std::uint64_t ms, std::function<void()> callback);
  /// At every arrival of `signum`, on the loop's thread, in ordinary code. Throws Error(invalid_argument) for SIGKILL
  /// and the like.
  Watch on_signal(int signum, std::function<void()> callback);
  /// At the next turn of the loop, in order of posting. From the loop's thread only.
  void post(std::function<void()> callback);

  std::int64_t now_ms() const noexcept;  ///< the loop's monotonic clock, read afresh
  uv_loop_s* raw() noexcept;
  /// For code that receives libuv callbacks itself: runs `body`; what it throws comes out of run().
  void guarded(const std::function<void()>& body) noexcept;

 private:
  struct State;
  bool turn(int mode);
  std::unique_ptr<State> state_;
};

}  // namespace xtune::base
