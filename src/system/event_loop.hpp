// One thread's event loop over libuv: timers, signals and posted calls. Subprocesses run on it.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>

struct uv_loop_s;

namespace xtune::system {

/// Single-threaded: everything on a loop, including callbacks, happens on the thread that runs it. An exception that
/// leaves a callback stops the loop and leaves the active run(). Callbacks are called under WriteSignals. While any
/// loop exists, SIGCHLD belongs to the loops; afterwards the program's handler is restored. Destroy everything that
/// uses a loop before the loop.
class EventLoop {
 public:
  /// Keeps a timer or a signal watched; destruction cancels, also from inside the callback.
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

  /// Waits for at least one event and handles all pending ones. False if nothing remains to wait for.
  bool run_once();
  /// Handles pending events without waiting. False if nothing remains to wait for.
  bool run_ready();
  /// Runs until nothing remains to wait for (watched signals do not keep the loop running).
  void run();
  /// Runs until done(), which is called after every event, returns true. Returns done(): false means that nothing
  /// remains to wait for.
  bool run_until(const std::function<bool()>& done);

  /// Calls back once, `ms` milliseconds from now (0: at the next turn).
  Watch call_after(std::uint64_t ms, std::function<void()> callback);
  /// The same for events that only accompany the work: they do not keep the loop running or waiting.
  Watch call_aside(std::uint64_t ms, std::function<void()> callback);
  /// Calls back for every `signum`, on the loop's thread, in ordinary code. Throws Error(invalid_argument) for SIGKILL
  /// and the like.
  Watch on_signal(int signum, std::function<void()> callback);
  /// Calls back at the next turn of the loop, in order of posting. Call it only on the loop's thread.
  void post(std::function<void()> callback);

  std::int64_t now_ms() const noexcept;  ///< the loop's monotonic clock, updated by the call
  uv_loop_s* raw() noexcept;
  /// For code that receives libuv callbacks itself: runs `body`; an exception from it leaves run().
  void guarded(const std::function<void()>& body) noexcept;

 private:
  struct State;
  bool turn(int mode);
  std::unique_ptr<State> state_;
};

}  // namespace xtune::system
