// Noticing that a thread is scheduled in another way than before.
#include "base/thread_state.hpp"

#include <doctest/doctest.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <thread>

using namespace xtune::base;

using namespace xtune;

namespace {

/// Whether it shows that a thread, which lives on, has called `change`.
bool shows(const std::function<void()>& change) {
  std::atomic<int> step{0};
  std::thread other([&] {
    step = 1;
    step.notify_all();
    step.wait(1);
    change();
    step = 3;
    step.notify_all();
    step.wait(3);
  });
  step.wait(0);
  const ThreadStates before = thread_states();
  CHECK(before.size() >= 2);
  CHECK(before.contains(getpid()));
  step = 2;
  step.notify_all();
  step.wait(2);
  const bool found = any_rescheduled(before, thread_states());
  step = 4;
  step.notify_all();
  other.join();
  return found;
}

}  // namespace

TEST_CASE("A thread that changed its priority or its affinity is noticed, and only such a one") {
  CHECK_FALSE(shows([] {}));
  CHECK(shows([] { CHECK(setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), 19) == 0); }));
  CHECK(shows([] {
    const sched_param none{};
    CHECK(sched_setscheduler(0, SCHED_BATCH, &none) == 0);
  }));
  cpu_set_t allowed, one;
  REQUIRE(sched_getaffinity(0, sizeof allowed, &allowed) == 0);
  if (CPU_COUNT(&allowed) < 2) return;
  CPU_ZERO(&one);
  for (int cpu = 0; CPU_COUNT(&one) == 0; ++cpu)
    if (CPU_ISSET(cpu, &allowed)) CPU_SET(cpu, &one);
  CHECK(shows([&] { CHECK(sched_setaffinity(0, sizeof one, &one) == 0); }));
}

TEST_CASE("Threads that came or went do not count") {
  CHECK_FALSE(any_rescheduled({{1, {0, 0, {1}}}}, {{2, {19, 0, {1}}}}));
  CHECK(any_rescheduled({{1, {0, 0, {1}}}}, {{1, {0, 0, {3}}}}));
}
