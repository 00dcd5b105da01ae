// A limit is waited for in steps. libuv calls timers before it reads pipes: after a suspension both are due at once,
// and the answer in the pipe must win.
#include "base/deadline.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "base/event_loop.hpp"
#include "base/files.hpp"

namespace xtune::base {
namespace {

// A suspension costs one step of the limit at most.
constexpr std::uint64_t steps = 8, longest_step_ms = 1000;
constexpr std::uint64_t min_longest_stop_ms = 60'000;
constexpr double longest_limit_s = 1e12;
// Beside one busy neighbour on each core a thread waits half of its time; a process under a limit of CPU time, or among
// dozens, nearly all of it.
constexpr double starved_share = 0.9, starved_share_in_all = 0.75;

char state_of(int pid) {
  const std::string stat = read_if_there("/proc/" + std::to_string(pid) + "/stat");
  // The program's name, in parentheses, may hold anything.
  const std::size_t at = stat.rfind(')');
  return at == std::string::npos || at + 2 >= stat.size() ? '?' : stat[at + 2];
}

/// Those that its first thread started: a worker starts all it starts there, and has a thread for each core.
std::vector<int> children_of_first_thread(int pid) {
  const std::string text = std::to_string(pid);
  std::ifstream file("/proc/" + text + "/task/" + text + "/children");
  return {std::istream_iterator<int>(file), {}};
}

}  // namespace

TimeAllowance::TimeAllowance(double limit_s) noexcept
    : limit_ms_(static_cast<std::uint64_t>(std::ceil(std::clamp(limit_s, 0.0, longest_limit_s) * 1e3))),
      step_ms_(std::clamp<std::uint64_t>(limit_ms_ / steps, 1, longest_step_ms)),
      longest_stop_ms_(std::max(limit_ms_, min_longest_stop_ms)) {}

std::uint64_t TimeAllowance::next_wait_ms() const noexcept {
  return used_ms_ >= limit_ms_ ? 1 : std::min(step_ms_, limit_ms_ - used_ms_);
}

void TimeAllowance::waited(bool stopped) noexcept { (stopped ? stopped_ms_ : used_ms_) += next_wait_ms(); }

bool is_stopped(int pid) {
  if (const char state = state_of(pid); state == 'T' || state == 't') return true;
  const std::vector<int> children = children_of_first_thread(pid);
  return std::any_of(children.begin(), children.end(), is_stopped);
}

std::uint64_t cpu_wait_ns(int pid) {
  std::uint64_t longest = 0;
  std::error_code gone;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/task", gone)) {
    std::ifstream file(thread.path() / "schedstat");  // proc(5): time on a CPU, time waited for one, in ns
    std::uint64_t on_cpu = 0, waited = 0;
    if (file >> on_cpu >> waited) longest = std::max(longest, waited);
  }
  for (const int child : children_of_first_thread(pid)) longest = std::max(longest, cpu_wait_ns(child));
  return longest;
}

struct Deadline::State {
  EventLoop& loop;
  TimeAllowance allowance;
  int pid;
  Expired expired;
  EventLoop::Watch timer;
  std::uint64_t cpu_wait = pid > 0 ? cpu_wait_ns(pid) : 0;  ///< as found last
  std::chrono::steady_clock::time_point looked = std::chrono::steady_clock::now();
  const std::uint64_t cpu_wait_at_first = cpu_wait;
  const std::chrono::steady_clock::time_point began = looked;

  /// It waited for a CPU nearly all the time since the last look: others, or a control group, had them all.
  bool was_starved() {
    const std::uint64_t before = std::exchange(cpu_wait, cpu_wait_ns(pid));
    const auto now = std::chrono::steady_clock::now();
    const std::chrono::duration<double, std::nano> passed = now - std::exchange(looked, now);
    return cpu_wait > before && static_cast<double>(cpu_wait - before) > starved_share * passed.count();
  }

  bool was_starved_in_all() const {
    const std::chrono::duration<double, std::nano> passed = looked - began;
    return cpu_wait > cpu_wait_at_first &&
           static_cast<double>(cpu_wait - cpu_wait_at_first) > starved_share_in_all * passed.count();
  }

  void wait() {
    timer = loop.call_after(allowance.next_wait_ms(), [this] {
      const bool starved = pid > 0 && was_starved();
      allowance.waited(pid > 0 && (starved || is_stopped(pid)));
      if (!allowance.is_over()) return wait();
      timer = loop.call_after(1, [this] {
        // The callback may destroy this.
        const Expired call = std::move(expired);
        call(allowance.was_stopped_too_long() || was_starved_in_all());
      });
    });
  }
};

Deadline::Deadline() = default;
Deadline::~Deadline() = default;
void Deadline::cancel() noexcept { state_.reset(); }
Deadline::Deadline(Deadline&&) noexcept = default;
Deadline& Deadline::operator=(Deadline&&) noexcept = default;

Deadline::Deadline(EventLoop& loop, double limit_s, int pid, Expired expired) {
  if (!(limit_s < longest_limit_s)) return;
  state_ = std::make_unique<State>(State{loop, TimeAllowance(limit_s), pid, std::move(expired), {}});
  state_->wait();
}

}  // namespace xtune::base
