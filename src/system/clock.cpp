// The machine's clocks, the thread and the signal handler that notice suspensions, and the C library's calendar.
#include "system/clock.hpp"

#include <time.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <ctime>
#include <mutex>
#include <system_error>
#include <thread>

namespace xtune::system {

namespace {

class SystemClock final : public Clock {
 public:
  std::int64_t now_ns() override {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }
  std::int64_t unix_time_ms() override {
    return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch())
        .count();
  }
};

constexpr std::chrono::milliseconds beat{200};
// A busy machine delays a thread by tens of milliseconds. Delays count from this length on, so that awake time never
// goes back.
constexpr std::int64_t late_ns = 1'200'000'000;

std::atomic<std::uint64_t> continued{0};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "a signal handler adds to it");

void on_continue(int) noexcept { continued.fetch_add(1, std::memory_order_relaxed); }

/// The results of the beats so far.
class Beats {
 public:
  void take() noexcept {
    const std::lock_guard lock(mutex_);
    const std::int64_t now_ns = system_clock().now_ns();
    const std::int64_t lost_ns = unseen_ns(now_ns);
    suspended_ns_ += lost_ns;
    count_ += lost_ns > 0;
    last_ns_ = now_ns;
  }
  void end() noexcept {
    const std::lock_guard lock(mutex_);
    last_ns_ = 0;
  }
  std::uint64_t count() noexcept {
    const std::lock_guard lock(mutex_);
    return count_ + (unseen_ns(system_clock().now_ns()) > 0 ? 1 : 0);
  }
  std::int64_t awake_ns() noexcept {
    const std::lock_guard lock(mutex_);
    const std::int64_t now_ns = system_clock().now_ns();
    return now_ns - suspended_ns_ - unseen_ns(now_ns);
  }

 private:
  std::int64_t unseen_ns(std::int64_t now_ns) const noexcept {
    return last_ns_ == 0 ? 0 : std::max<std::int64_t>(now_ns - last_ns_ - late_ns, 0);
  }
  std::mutex mutex_;
  std::int64_t last_ns_ = 0;  // 0: no watch exists
  std::int64_t suspended_ns_ = 0;
  std::uint64_t count_ = 0;
};

Beats& beats() {
  // Never destroyed: the awake clock may be used until the end.
  static auto* one = new Beats;
  return *one;
}

class AwakeClock final : public Clock {
 public:
  std::int64_t now_ns() override { return beats().awake_ns(); }
  std::int64_t unix_time_ms() override { return system_clock().unix_time_ms(); }
};

}  // namespace

double thread_cpu_s() {
  timespec used{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9;
}

Clock& system_clock() {
  // Never destroyed: destructors of other statics may still call it.
  static auto* clock = new SystemClock;
  return *clock;
}

/// The last member ends first: the thread, when it is asked to stop.
struct SuspensionWatch::Thread {
  std::mutex mutex;
  std::condition_variable_any ends;
  std::jthread thread{[this](const std::stop_token& stop) {
    // Signals should go to the program's other threads.
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, nullptr);
    std::unique_lock lock(mutex);
    while (!stop.stop_requested()) {
      beats().take();
      ends.wait_for(lock, stop, beat, [] { return false; });
    }
    beats().end();
  }};
};

SuspensionWatch::SuspensionWatch() {
  static std::mutex mutex;
  static std::weak_ptr<Thread> running;
  const std::lock_guard lock(mutex);
  thread_ = running.lock();
  if (thread_) return;
  try {
    running = thread_ = std::make_shared<Thread>();
  } catch (const std::system_error&) {  // no thread available: suspensions are not noticed, but the run can continue
  }
}

SuspensionWatch::~SuspensionWatch() = default;

void count_continue_signals() noexcept {
  struct sigaction action {};
  action.sa_handler = on_continue;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(SIGCONT, &action, nullptr);
}

std::uint64_t suspensions() noexcept { return beats().count() + continued.load(std::memory_order_relaxed); }

Clock& awake_clock() {
  // Never destroyed, as system_clock() is.
  static auto* clock = new AwakeClock;
  return *clock;
}

std::string utc_text(std::int64_t unix_time_ms) {
  const auto seconds = static_cast<std::time_t>(unix_time_ms / 1000);
  std::tm utc{};
  char text[64];
  if (gmtime_r(&seconds, &utc) && std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &utc) > 0) return text;
  return std::to_string(unix_time_ms) + " ms after 1970";
}

}  // namespace xtune::system
