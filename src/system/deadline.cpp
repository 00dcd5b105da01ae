// A limit is waited for in steps. libuv calls timers before it reads pipes: after a suspension both are due at once,
// and an answer in the pipe must take precedence.
#include "system/deadline.hpp"

#include <sched.h>
#include <sys/syscall.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "system/event_loop.hpp"
#include "system/machine.hpp"
#include "system/processes.hpp"

namespace xtune::system {
namespace {

// A suspension counts for at most one step of the limit.
constexpr std::uint64_t steps = 8, longest_step_ms = 1000;
constexpr std::uint64_t min_longest_stop_ms = 60'000;
constexpr double longest_limit_s = 1e12;
// With one busy neighbour on each core a thread waits half of its time; a process under a limit of CPU time, or among
// dozens of others, waits nearly all of it.
constexpr double starved_share = 0.9, starved_share_in_all = 0.75;

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
  if (const std::string stat = process_stat(pid); stat.starts_with('T') || stat.starts_with('t')) return true;
  const std::vector<int> children = children_of(pid);
  return std::any_of(children.begin(), children.end(), is_stopped);
}

bool has_stopped_itself(int pid, Watched watched) {
  constexpr int stopping[] = {SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU};
  std::error_code gone;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/task", gone)) {
    std::ifstream file(thread.path() / "syscall");  // proc(5): number and arguments, or a word, or -1
    long number = -1, target = 0, second = 0, third = 0;
    if (!(file >> number >> std::hex >> target >> second >> third)) continue;
    const bool of_thread = number == SYS_tgkill, own = target == pid || target == 0;
    const long signal = of_thread ? third : second;
    if ((of_thread || number == SYS_kill || number == SYS_tkill) && (own || number == SYS_tkill) &&
        std::find(std::begin(stopping), std::end(stopping), signal) != std::end(stopping))
      return true;
  }
  if (watched == Watched::process) return false;
  const std::vector<int> children = children_of(pid);
  return std::any_of(children.begin(), children.end(), [](int child) { return has_stopped_itself(child); });
}

CpuTimes cpu_times(int pid) {
  CpuTimes times;
  std::error_code gone;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/task", gone)) {
    std::ifstream file(thread.path() / "schedstat");  // proc(5): time on a CPU, time waited for one, in ns
    CpuTime time;
    if (file >> time.run_ns >> time.wait_ns) times[std::atoi(thread.path().filename().c_str())] = time;
  }
  for (const int child : children_of(pid)) times.merge(cpu_times(child));
  return times;
}

namespace {

/// What the threads of a process got between two readings.
struct Got {
  double longest_wait_ns = 0, wait_ns = 0, run_ns = 0;
  double usable_ns = 0;  ///< in which they ran or could have run
};

Got got_between(const CpuTimes& before, const CpuTimes& now, double passed_ns) {
  Got got;
  for (const auto& [thread, time] : now) {
    const auto known = before.find(thread);
    const CpuTime from = known == before.end() ? CpuTime() : known->second;
    if (time.run_ns < from.run_ns || time.wait_ns < from.wait_ns) continue;  // the id was reused by another thread
    const auto ran_ns = static_cast<double>(time.run_ns - from.run_ns);
    const auto waited_ns = static_cast<double>(time.wait_ns - from.wait_ns);
    got.longest_wait_ns = std::max(got.longest_wait_ns, waited_ns);
    got.wait_ns += waited_ns;
    got.run_ns += ran_ns;
    got.usable_ns += std::min(ran_ns + waited_ns, passed_ns);
  }
  return got;
}

}  // namespace

bool was_starved(const CpuTimes& before, const CpuTimes& now, double passed_ns, double cpus, double share) {
  const Got got = got_between(before, now, passed_ns);
  return got.longest_wait_ns > share * passed_ns &&
         got.run_ns < (1 - share) * std::min(got.usable_ns, cpus * passed_ns);
}

double run_ns(const CpuTimes& before, const CpuTimes& now) { return got_between(before, now, 0).run_ns; }

double lost_share(const CpuTimes& before, const CpuTimes& now, double passed_ns, double cpus) {
  constexpr double time_slice_ns = 4e6;
  const Got got = got_between(before, now, passed_ns);
  if (got.wait_ns < time_slice_ns) return 0;
  return std::max(0.0, 1 - got.run_ns / std::min(got.usable_ns, cpus * passed_ns));
}

// A quota below one CPU counts as one: it may stop even a single thread.
double usable_cpus(int pid) {
  cpu_set_t set;
  const double allowed = sched_getaffinity(pid, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
  const double quota = static_cast<double>(cpu_quota_milli()) / 1000;
  return quota > 0 ? std::min(allowed, std::max(quota, 1.0)) : allowed;
}

struct Deadline::State {
  EventLoop& loop;
  TimeAllowance allowance;
  int pid;
  Expired expired;
  Watched watched;
  EventLoop::Watch timer;
  CpuTimes times = pid > 0 ? cpu_times(pid) : CpuTimes();  ///< from the last reading
  std::chrono::steady_clock::time_point looked = std::chrono::steady_clock::now();
  const CpuTimes times_at_first = times;
  const std::chrono::steady_clock::time_point began = looked;
  double cpus = 0;  ///< usable_cpus, set at the first whole step

  /// Whether, since the last reading, other processes or a control group had the CPUs.
  bool was_starved_lately() {
    if (cpus == 0) cpus = usable_cpus(pid);
    const CpuTimes before = std::exchange(times, cpu_times(pid));
    const auto now = std::chrono::steady_clock::now();
    const std::chrono::duration<double, std::nano> passed = now - std::exchange(looked, now);
    return was_starved(before, times, passed.count(), cpus, starved_share);
  }

  bool was_starved_in_all() const {
    const std::chrono::duration<double, std::nano> passed = looked - began;
    return was_starved(times_at_first, times, passed.count(), cpus, starved_share_in_all);
  }

  void wait() {
    timer = loop.call_after(allowance.next_wait_ms(), [this] {
      const bool starved = pid > 0 && was_starved_lately(), stopped = pid > 0 && is_stopped(pid);
      allowance.waited(starved || stopped);
      const bool by_itself = stopped && has_stopped_itself(pid, watched);
      if (!by_itself && !allowance.is_over()) return wait();
      timer = loop.call_after(1, [this, by_itself] {
        // The callback may destroy this.
        const Expired call = std::move(expired);
        const bool held_up = allowance.was_stopped_too_long() || was_starved_in_all();
        call(by_itself ? Expiry::stopped_itself : held_up ? Expiry::held_up : Expiry::too_slow);
      });
    });
  }
};

Deadline::Deadline() = default;
Deadline::~Deadline() = default;
void Deadline::cancel() noexcept { state_.reset(); }
Deadline::Deadline(Deadline&&) noexcept = default;
Deadline& Deadline::operator=(Deadline&&) noexcept = default;

Deadline::Deadline(EventLoop& loop, double limit_s, int pid, Expired expired, Watched watched) {
  if (!(limit_s < longest_limit_s)) return;
  state_ = std::make_unique<State>(State{loop, TimeAllowance(limit_s), pid, std::move(expired), watched, {}});
  state_->wait();
}

}  // namespace xtune::system
