// What a kernel changed in its process is found and named; what runtimes do is not.
#include "worker/process_state.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <optional>
#include <thread>
#include <vector>

#include "backends/host/block/fiber.hpp"
#include "fakes/limited_child.hpp"

using namespace xtune::worker;

using namespace xtune;

namespace {

/// What is found after `change` in a separate process.
std::string found(const std::function<void()>& change) {
  return fakes::under_limit(RLIMIT_CORE, 0, [&] {
    const ProcessState before = process_state();
    change();
    return changes(before, process_state()).faults;
  });
}

/// What is found after a thread, which lives on, has called `change`.
std::string found_of_thread(const std::function<void()>& change) {
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
  const ProcessState before = process_state();
  CHECK(before.threads.size() >= 2);
  CHECK(before.threads.contains(getpid()));
  step = 2;
  step.notify_all();
  step.wait(2);
  const ProcessChanges found = changes(before, process_state());
  step = 4;
  step.notify_all();
  other.join();
  return found.faults + (found.rescheduled ? "rescheduled" : "");
}

void lower(decltype(RLIMIT_CPU) resource, rlim_t to) {
  rlimit limit{};
  getrlimit(resource, &limit);
  limit.rlim_cur = to;
  setrlimit(resource, &limit);
}

}  // namespace

TEST_CASE("A kernel's descriptors, limits, directories, timers and variables are found") {
  CHECK(found([] {}).empty());
  CHECK(found([] { (void)!open("/dev/null", O_RDONLY); }) == "left 1 descriptor open");
  CHECK(found([] {
          for (int i = 0; i < 4; ++i) (void)!open("/dev/null", O_RDONLY);
          close(STDIN_FILENO);
        }) == "left 4 descriptors open, closed or replaced 1 descriptor");
  CHECK(found([] {
          lower(RLIMIT_NOFILE, 64);
          while (open("/dev/null", O_RDONLY) >= 0) continue;
        }) == "changed the limits");
  CHECK(fakes::under_limit(RLIMIT_NOFILE, 64, [] {
          const ProcessState before = process_state();
          while (open("/dev/null", O_RDONLY) >= 0) continue;
          return changes(before, process_state()).faults;
        }) == "left no descriptor free");
  CHECK(found([] { (void)!chdir("/proc"); }) == "changed the working directory");
  CHECK(found([] { umask(0777); }) == "changed the umask");
  CHECK(found([] { setenv("XTUNE_TEST_VARIABLE", "1", 1); }) == "changed the environment");
  CHECK(found([] { alarm(1000); }) == "changed the timers");
  CHECK(found([] { std::signal(SIGUSR1, SIG_IGN); }) == "changed the signal handlers");
  CHECK(found([] {
          sigset_t all;
          sigfillset(&all);
          sigprocmask(SIG_BLOCK, &all, nullptr);
        }) == "changed the signal mask");
  if (geteuid() == 0) {
    CHECK(found([] { (void)!chroot("/proc"); }) == "changed the root directory");
    CHECK(found([] { (void)!setresuid(65534, 65534, 65534); }).find("user") != std::string::npos);
  }
}

TEST_CASE("Many mappings are found, and a few are not") {
  const auto map = [](int count) {
    for (int i = 0; i < count; ++i)  // of different kinds, which are not joined
      mmap(nullptr, 4096, i % 2 ? PROT_READ : PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  };
  CHECK(found([&] { map(100); }).empty());
  CHECK(found([&] { map(4000); }).starts_with("left "));
}

TEST_CASE("Many threads are found, and a few are not unless they run") {
  const auto with_threads = [](unsigned count, bool running) {
    return fakes::under_limit(RLIMIT_CORE, 0, [=] {
      const ProcessState before = process_state();
      std::atomic<unsigned> started{0};
      for (unsigned i = 0; i < count; ++i)
        std::thread([&] {
          ++started;
          while (running) continue;
          for (;;) pause();
        }).detach();
      while (started < count) std::this_thread::yield();
      ProcessState now = process_state();
      // A thread that has started may still be on its way to pause().
      while (!running && changes(before, now).threads_running) now = process_state();
      return changes(before, now).faults + (changes(before, now).threads_running ? " running" : "");
    });
  };
  CHECK(with_threads(2, false).empty());
  CHECK(with_threads(1, true) == " running");
  const unsigned many = 2 * std::thread::hardware_concurrency() + 9;
  CHECK(with_threads(many, false) == "left " + std::to_string(many) + " threads");
}

TEST_CASE("A thread that changed its priority or its affinity is found") {
  CHECK(found_of_thread([] {}).empty());
  CHECK(found_of_thread([] { CHECK(setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), 19) == 0); }) ==
        "rescheduled");
  CHECK(found_of_thread([] {
          const sched_param none{};
          CHECK(sched_setscheduler(0, SCHED_BATCH, &none) == 0);
        }) == "rescheduled");
  cpu_set_t allowed, one;
  REQUIRE(sched_getaffinity(0, sizeof allowed, &allowed) == 0);
  if (CPU_COUNT(&allowed) < 2) return;
  CPU_ZERO(&one);
  for (int cpu = 0; CPU_COUNT(&one) == 0; ++cpu)
    if (CPU_ISSET(cpu, &allowed)) CPU_SET(cpu, &one);
  CHECK(found_of_thread([&] { CHECK(sched_setaffinity(0, sizeof one, &one) == 0); }) == "rescheduled");
}

TEST_CASE("The guard pages of xtune's own stacks are not the kernel's mappings") {
  std::optional<host::Stacks> stacks;
  CHECK(found([&] { stacks.emplace(3000, std::size_t{16384}); }).empty());
}
