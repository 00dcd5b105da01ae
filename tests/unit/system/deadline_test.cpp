// What counts toward a time limit, without a clock: waits by their length, and none while the other side is stopped.
#include "system/deadline.hpp"

#include <doctest/doctest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <memory>
#include <optional>
#include <string>

#include "system/event_loop.hpp"
#include "system/files.hpp"
#include "system/subprocess.hpp"

using namespace xtune::system;

using namespace xtune;

namespace {

int waits_until_over(TimeAllowance& allowance, bool stopped) {
  int count = 0;
  for (; !allowance.is_over() && count < 1'000'000; ++count) allowance.waited(stopped);
  return count;
}

}  // namespace

TEST_CASE("a limit is used up by the requested lengths of waits, however long they took") {
  TimeAllowance allowance(30);
  CHECK(allowance.next_wait_ms() == 1000);
  CHECK(waits_until_over(allowance, false) == 30);
  CHECK_FALSE(allowance.was_stopped_too_long());
  TimeAllowance uneven(2.5);
  std::uint64_t sum_ms = 0;
  while (!uneven.is_over()) sum_ms += uneven.next_wait_ms(), uneven.waited(false);
  CHECK(sum_ms == 2500);
  CHECK(TimeAllowance(0.004).next_wait_ms() == 1);
  CHECK(TimeAllowance(0).is_over());
}

TEST_CASE("while what is waited for is stopped nothing counts, up to the limit once more and a minute at least") {
  TimeAllowance allowance(5);
  for (int i = 0; i < 50; ++i) allowance.waited(true);
  CHECK_FALSE(allowance.is_over());
  CHECK(waits_until_over(allowance, false) == 8);
  CHECK_FALSE(allowance.was_stopped_too_long());
  TimeAllowance never(5);
  CHECK(waits_until_over(never, true) == 96);  // a minute in steps of 5 s / 8
  CHECK(never.was_stopped_too_long());
  TimeAllowance slow(600);
  CHECK(waits_until_over(slow, true) == 600);
}

TEST_CASE("time is lost to other programs, not to threads of the same process") {
  const CpuTimes none{{1, {}}, {2, {}}};
  const auto lost = [&](CpuTimes now, double cpus) { return lost_share(none, now, 1e9, cpus); };
  CHECK(lost({{1, {900'000'000, 100'000'000}}}, 1) == doctest::Approx(0.1));
  CHECK(lost({{1, {500'000'000, 500'000'000}}, {2, {500'000'000, 500'000'000}}}, 2) == doctest::Approx(0.5));
  CHECK(lost({{1, {500'000'000, 500'000'000}}, {2, {500'000'000, 500'000'000}}}, 1) == 0);
  // A thread that sleeps uses nothing, and one time slice is one sample.
  CHECK(lost({{1, {300'000'000, 0}}}, 1) == 0);
  CHECK(lost({{1, {1'000'000, 3'900'000}}}, 1) == 0);
  CHECK(lost({{1, {36'000'000, 4'000'000}}, {3, {0, 0}}}, 1) == doctest::Approx(0.1));
  CHECK(lost({}, 1) == 0);
  CHECK(usable_cpus(getpid()) >= 1);
}

TEST_CASE("a stopped process is seen, and so is one that it started") {
  EventLoop loop;
  std::string out;
  SubprocessOptions options;
  options.argv = {"/bin/sh", "-c", "sleep 60 & echo $!; wait"};
  options.on_stdout = [&](std::string_view bytes) { out += bytes; };
  Subprocess shell(loop, options);
  REQUIRE(loop.run_until([&] { return out.find('\n') != std::string::npos; }));
  const int sleeper = std::stoi(out);
  CHECK_FALSE(is_stopped(shell.pid()));
  // Signals to one process arrive in order, but it stops in its own time.
  const auto becomes = [&](int pid, bool stopped) {
    for (int i = 0; i < 1'000'000; ++i)
      if (is_stopped(pid) == stopped) return true;
    return false;
  };
  ::kill(sleeper, SIGSTOP);
  CHECK(becomes(shell.pid(), true));
  ::kill(sleeper, SIGCONT);
  CHECK(becomes(shell.pid(), false));
  ::kill(shell.pid(), SIGSTOP);
  CHECK(becomes(shell.pid(), true));
  shell.kill_group(SIGKILL);
}

TEST_CASE("a process that stopped itself is told from one that others stopped, and its limit is over at once") {
  EventLoop loop;
  SubprocessOptions options;
  options.argv = {"/bin/sh", "-c", "sleep 60"};
  Subprocess waiting(loop, options);
  ::kill(waiting.pid(), SIGSTOP);
  for (int i = 0; i < 1'000'000 && !is_stopped(waiting.pid()); ++i) continue;
  CHECK(is_stopped(waiting.pid()));
  CHECK_FALSE(has_stopped_itself(waiting.pid()));
  waiting.kill_group(SIGKILL);
  options.argv = {"/bin/sh", "-c", "sh -c 'kill -STOP $$'; sleep 60"};
  Subprocess stopping(loop, options);
  std::optional<Expiry> why;
  const Deadline limit(loop, 1000, stopping.pid(), [&](Expiry expiry) { why = expiry; });
  loop.run_until([&] { return why.has_value(); });
  CHECK(why == Expiry::stopped_itself);
  stopping.kill_group(SIGKILL);
}

TEST_CASE("the time that a process waits for a CPU is told, of those that it started too") {
  cpu_set_t old, one;
  REQUIRE(sched_getaffinity(0, sizeof old, &old) == 0);
  CPU_ZERO(&one);
  for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++cpu)
    if (CPU_ISSET(cpu, &old)) CPU_SET(cpu, &one);
  REQUIRE(sched_setaffinity(0, sizeof one, &one) == 0);
  EventLoop loop;
  SubprocessOptions options;
  // Four on one CPU.
  options.argv = {"/bin/sh", "-c", "for i in 1 2 3 4; do (while :; do :; done) & done; wait"};
  Subprocess shell(loop, options);
  const auto waits = [&](std::uint64_t ns) {
    for (int i = 0; i < 10'000'000; ++i)
      for (const auto& [thread, time] : cpu_times(shell.pid()))
        if (time.wait_ns > ns) return true;
    return false;
  };
  CHECK(waits(1'000'000));
  shell.kill_group(SIGKILL);
  REQUIRE(sched_setaffinity(0, sizeof old, &old) == 0);
  CHECK(cpu_times(1 << 30).empty());  // no such process
}

TEST_CASE("a process is starved if others had the CPUs, and not if its own threads wait for each other") {
  const auto threads = [](int count, std::uint64_t run_ns, std::uint64_t wait_ns) {
    CpuTimes times;
    for (int i = 1; i <= count; ++i) times[i] = {run_ns, wait_ns};
    return times;
  };
  const auto starved = [](const CpuTimes& times, double cpus, double share) {
    return was_starved({}, times, 1000, cpus, share);
  };
  CHECK(starved(threads(1, 50, 950), 2, 0.9));
  CHECK_FALSE(starved(threads(1, 500, 500), 2, 0.75));
  CHECK(starved(threads(8, 50, 950), 8, 0.9));
  // Sixteen threads that share two CPUs, and no other load.
  CHECK_FALSE(starved(threads(16, 125, 875), 2, 0.75));
  CHECK_FALSE(starved(threads(64, 31, 969), 2, 0.9));
  CHECK(starved(threads(16, 5, 995), 2, 0.9));
  // Hardly any work.
  CHECK_FALSE(starved(threads(4, 1, 100), 2, 0.75));
  CHECK_FALSE(starved({}, 2, 0.75));
  // Only the time since the first look counts.
  CHECK_FALSE(was_starved(threads(1, 0, 5000), threads(1, 900, 5100), 1000, 2, 0.75));
  CHECK(was_starved(threads(1, 5000, 0), threads(1, 5050, 950), 1000, 2, 0.75));
}

TEST_CASE("an answer that is in the pipe when the time is up wins") {
  // The child has answered and the limit has passed before the loop looks at either.
  EventLoop loop;
  bool answered = false, expired = false;
  SubprocessOptions options;
  options.argv = {"/bin/sh", "-c", "echo answer; exec sleep 60"};
  Deadline deadline;
  options.on_stdout = [&](std::string_view) {
    answered = true;
    deadline.cancel();
  };
  Subprocess child(loop, options);
  deadline = Deadline(loop, 0.001, child.pid(), [&](Expiry) { expired = true; });
  // Blocks as a suspended process would, until the child sleeps: then its answer is in the pipe.
  const std::string name = "/proc/" + std::to_string(child.pid()) + "/comm";
  for (std::string comm; comm != "sleep\n";) comm = read_if_there(name);
  REQUIRE(loop.run_until([&] { return answered || expired; }));
  CHECK(answered);
  CHECK_FALSE(expired);
}

TEST_CASE("a deadline comes once, never after cancel() or its destruction, and not at all for no limit") {
  EventLoop loop;
  int fired = 0;
  Deadline plain(loop, 0.002, 0, [&](Expiry why) { fired += why == Expiry::too_slow ? 1 : 100; });
  Deadline cancelled(loop, 0.001, 0, [&](Expiry) { fired += 10; });
  cancelled.cancel();
  {
    const Deadline destroyed(loop, 0.001, 0, [&](Expiry) { fired += 10; });
  }
  const Deadline infinite(loop, HUGE_VAL, 0, [&](Expiry) { fired += 10; });
  const Deadline undefined(loop, NAN, 0, [&](Expiry) { fired += 10; });
  loop.run();
  CHECK(fired == 1);
}

TEST_CASE("a deadline may be destroyed by its own callback") {
  EventLoop loop;
  auto deadline = std::make_unique<Deadline>();
  bool fired = false;
  *deadline = Deadline(loop, 0.001, 0, [&](Expiry) {
    deadline.reset();
    fired = true;
  });
  loop.run();
  CHECK(fired);
}
