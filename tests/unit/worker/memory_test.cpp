// Tests of what bounds the memory of a bench worker: the sum of all that a problem takes, and the watch over kernels.
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <vector>

#include "base/text.hpp"
#include "bench_fixture.hpp"
#include "system/machine.hpp"
#include "worker/bench_problem.hpp"
#include "worker/process_state.hpp"

using namespace xtune::base;
using namespace xtune::system;
using namespace xtune::worker;
using namespace xtune::run;
using namespace xtune::spec;

namespace {

using namespace xtune;
using namespace xtune::fakes;

constexpr std::uint64_t mib = std::uint64_t{1} << 20;

/// x is read, y is written, z both; 1, 2 and 4 MiB.
OpenJob three_buffers() {
  OpenJob job;
  job.arguments = {buffer("x", ArgRole::in), buffer("y", ArgRole::out), {}, buffer("z", ArgRole::inout)};
  std::uint64_t size = mib;
  for (ArgumentPlan& plan : job.arguments) {
    if (!plan.buffer) continue;
    plan.buffer->shape = {size / 4};
    plan.buffer->at = "k.toml:" + std::to_string(size / mib) + ":1";
    size *= 2;
  }
  return job;
}

std::string complaint(const OpenJob& job, const MemoryNeeds& needs, const MemoryFound& found) {
  try {
    require_memory(job, needs, found);
    return "";
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::unavailable);
    return error.what();
  }
}

}  // namespace

TEST_CASE("All buffers and copies of a problem are added up") {
  OpenJob job = three_buffers();
  CHECK(memory_needs(job, 1, 0, 0).host == 5 * mib);  // what x and z begin with
  CHECK(memory_needs(job, 1, 0, 0).device == 7 * mib);
  CHECK(memory_needs(job, 3, 4096, 10).device == 3 * (7 * mib + 6 * 4096) + 10);
  job.reference.kind = ReferenceSpec::Kind::builtin;
  CHECK(memory_needs(job, 1, 0, 0).host == (5 + 6 + 4) * mib);  // expected outputs, and one that is read back
  job.repeats = 1;
  CHECK(memory_needs(job, 1, 0, 0).host == (5 + 6 + 4 + 6) * mib);
  job.check_kernel.emplace();
  CHECK(memory_needs(job, 1, 0, 0).device == (7 + 4 + 6) * mib);
}

TEST_CASE("A lack of memory is an error at the largest argument, with what is needed and what there is") {
  const OpenJob job = three_buffers();
  const MemoryNeeds needs{10 * mib, 20 * mib};
  CHECK(complaint(job, needs, {30 * mib, 1, true}).empty());
  CHECK(complaint(job, needs, {30 * mib - 1, 1, true}) ==
        "k.toml:4:1: not enough memory for the arguments: they and the copies that they are compared with take " +
            human_bytes(30 * mib) + ", and " + human_bytes(30 * mib - 1) +
            " are free on this machine and in its control group. Choose a smaller problem, or give this process more "
            "memory");
  CHECK(complaint(job, needs, {10 * mib, 20 * mib, false}).empty());
  CHECK(complaint(job, needs, {10 * mib, 0, false}).empty());
  CHECK(complaint(job, needs, {10 * mib, 19 * mib, false}) ==
        "k.toml:4:1: not enough memory for the arguments: they take " + human_bytes(20 * mib) + ", and " +
            human_bytes(19 * mib) + " is what the device has. Choose a smaller problem");
  CHECK_FALSE(complaint(job, needs, {9 * mib, 0, false}).empty());
}

TEST_CASE("A session that memory does not suffice for takes none") {
  Bench bench;
  bench.device.device_info.vendor = "cpu";
  const auto open = [&](std::uint64_t available) {
    BenchSession(bench.device, bench.open, bench.clock, [=] { return available; });
  };
  CHECK_THROWS_AS(open(20'000), Error);
  CHECK(bench.device.allocations == 0);
  CHECK_NOTHROW(open(mib * 100));
  // Sets of buffers that take turns are as many as there is room for.
  bench.open.measure.flush = Flush::rotate;
  bench.device.allocations = 0;
  CHECK_NOTHROW(open(mib * 100));
  const std::size_t many = bench.device.allocations;
  bench.device.allocations = 0;
  CHECK_NOTHROW(open(mib * 14));
  CHECK(bench.device.allocations <= many);
}

TEST_CASE("The watch calls once, while something runs that holds too much, and at no other time") {
  std::atomic<std::uint64_t> held{10}, calls{0}, told{0};
  {
    MemoryWatch watch([&] { return held.load(); },
                      [&](std::uint64_t bytes) {
                        told = bytes;
                        ++calls;
                      });
    held = 100;  // before anything runs
    watch.begin(200);
    watch.end();
    CHECK(calls == 0);
    watch.begin(50);
    while (calls == 0) usleep(1000);
  }
  CHECK(told == 100);
  CHECK(calls == 1);
}

TEST_CASE("A process that takes memory without end is ended by its watch") {
  const pid_t child = ::fork();
  if (child == 0) {
    MemoryWatch watch(held_memory_bytes, [](std::uint64_t) { ::_exit(7); });
    const std::uint64_t first = held_memory_bytes();
    watch.begin(first + 64 * mib);
    std::vector<std::vector<char>> taken;
    while (held_memory_bytes() < first + 96 * mib) taken.emplace_back(mib, '\1');
    ::sleep(60);
    ::_exit(0);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 7);
}
