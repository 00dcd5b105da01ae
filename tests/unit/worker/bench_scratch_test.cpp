// Tests of scratch buffers: sizes, poison, zeros before every launch, guard zones, memory that is short.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "bench_fixture.hpp"

using namespace xtune::worker;
using namespace xtune::run;
using namespace xtune::spec;

namespace {

using namespace xtune;
using namespace xtune::fakes;

validate::ArgumentLayout scratch(std::uint64_t elements, bool zero) {
  validate::ArgumentLayout layout;
  layout.name = "work";
  layout.role = ArgRole::scratch;
  layout.dtype = DType::f32;
  layout.shape = {elements};
  if (zero) layout.fill = Fill::zero;
  return layout;
}

/// y = 2x through the scratch buffer, which is the third one.
double through_scratch(const FakeLaunch& call) {
  for (std::size_t i = 0; i < count; ++i) call.buffer<float>(2)[i] = call.buffer<float>(0)[i];
  for (std::size_t i = 0; i < count; ++i) call.buffer<float>(1)[i] = 2 * call.buffer<float>(2)[i];
  return 1.5;
}
/// The same, where the scratch buffer holds zeros before the launch.
double added_to_scratch(const FakeLaunch& call) {
  for (std::size_t i = 0; i < count; ++i) call.buffer<float>(2)[i] += call.buffer<float>(0)[i];
  for (std::size_t i = 0; i < count; ++i) call.buffer<float>(1)[i] = 2 * call.buffer<float>(2)[i];
  return 1.5;
}

struct ScratchBench : Bench {
  ScratchBench() {
    open.arguments = {buffer("x", ArgRole::in), buffer("y", ArgRole::out), {{}, true}, {}};
    open.reference.scratch = {scratch(count, false)};
  }
  BenchAnswer run_with(const std::string& name, const validate::ArgumentLayout& layout, const FakeKernel& kernel) {
    BenchSession session(device, open, clock, [this] { return available_bytes; });
    BenchJob job = this->job(name, kernel);
    job.scratch = {layout};
    return session.bench(job);
  }
  std::uint64_t available_bytes = std::uint64_t{1} << 30;
};

}  // namespace

TEST_CASE("Each configuration has a scratch buffer of its own size, and nobody compares it") {
  ScratchBench bench;
  for (const std::uint64_t elements : {std::uint64_t{count}, std::uint64_t{10 * count}}) {
    std::size_t bytes = 0;
    const BenchAnswer answer = bench.run_with("right", scratch(elements, false), [&](const FakeLaunch& call) {
      bytes = call.buffers.at(2)->size();
      return through_scratch(call);
    });
    CHECK(answer.outcome == Outcome::ok);
    CHECK(bytes == 4 * elements);
  }
}

TEST_CASE("A kernel that reads scratch before it writes there computes with NaN") {
  ScratchBench bench;
  CHECK(bench.run_with("reads", scratch(count, false), added_to_scratch).outcome == Outcome::wrong_result);
}

TEST_CASE("A kernel that ignores NaN in scratch it has not written, as a maximum does, computes with large numbers") {
  ScratchBench bench;
  const BenchAnswer answer = bench.run_with("maximum", scratch(count, false), [](const FakeLaunch& call) {
    const float before = call.buffer<float>(2)[0];
    const double time_ms = through_scratch(call);
    if (before > 1e30F) call.buffer<float>(1)[0] = before;
    return time_ms;
  });
  CHECK(answer.outcome == Outcome::wrong_result);
  CHECK(answer.message.find("or on what its outputs or scratch buffers hold before the launch?") != std::string::npos);
}

TEST_CASE("Results computed from poison were written, and zeros in the scratch buffer are named if they help") {
  ScratchBench bench;
  const BenchAnswer adds = bench.run_with("adds", scratch(count, false), added_to_scratch);
  REQUIRE(adds.validation);
  CHECK(adds.validation->nans == count);
  CHECK(adds.validation->unwritten == 0);
  CHECK(adds.message.find("never written") == std::string::npos);
  CHECK(adds.message.find("give 'work' zero = true") != std::string::npos);
  const BenchAnswer idle = bench.run_with("idle", scratch(count, false), [](const FakeLaunch&) { return 1.5; });
  REQUIRE(idle.validation);
  CHECK(idle.validation->unwritten == count);
  CHECK(idle.message.find("never written") != std::string::npos);
  CHECK(idle.message.find("zero = true") == std::string::npos);
}

TEST_CASE("Scratch that the spec wants zeroed holds zeros before every launch, timed ones too") {
  ScratchBench bench;
  std::size_t not_zero = 0;
  double kernel_ms = 1.5;
  int together = 1;
  SUBCASE("launches on their own") {}
  SUBCASE("many in a sample") { bench.open.measure.flush = Flush::none, kernel_ms = 0.015, together = 10; }
  const BenchAnswer answer = bench.run_with("adds", scratch(count, true), [&](const FakeLaunch& call) {
    not_zero += std::any_of(call.buffer<float>(2), call.buffer<float>(2) + count, [](float v) { return v != 0; });
    added_to_scratch(call);
    return kernel_ms;
  });
  CHECK(answer.telemetry.launches == together);
  CHECK(answer.outcome == Outcome::ok);
  CHECK(not_zero == 0);
  CHECK(answer.samples_ms.size() == 5);
}

TEST_CASE("A write past the end of a scratch buffer is a wrong result, also after the first launch") {
  ScratchBench bench;
  const auto beyond = [](const FakeLaunch& call) {
    call.buffer<float>(2)[count] = 0;
    return through_scratch(call);
  };
  const BenchAnswer answer = bench.run_with("beyond", scratch(count, false), beyond);
  CHECK(answer.outcome == Outcome::wrong_result);
  CHECK(answer.message == "work: the kernel wrote past the end of this buffer");
  const BenchAnswer late = bench.run_with("late", scratch(count, false), [&](const FakeLaunch& call) {
    return call.number == 0 ? through_scratch(call) : beyond(call);
  });
  CHECK(late.outcome == Outcome::wrong_result);
  CHECK(late.message.find("work: the kernel wrote past the end of this buffer") == 0);

  ScratchBench other;
  other.device.kernels[other.artifact("reference").key] = beyond;
  CHECK_THROWS_WITH_AS(other.run_with("right", scratch(count, false), through_scratch),
                       doctest::Contains("the reference kernel 'reference' wrote past the end of work"), Error);
}

TEST_CASE("Scratch for which memory is short rejects its configuration, in this run only") {
  ScratchBench bench;
  BenchSession session(bench.device, bench.open, bench.clock);
  BenchJob large = bench.job("large", through_scratch);
  large.scratch = {scratch(std::uint64_t{1} << 20, false)};
  session.prepare_reference();
  bench.device.left_bytes = 1 << 20;
  const BenchAnswer answer = session.bench(large);
  CHECK(answer.outcome == Outcome::rejected);
  CHECK(answer.lack == build::Lack::memory);
  CHECK(answer.message.find("scratch buffer 'work' f32[1048576] takes 4 MiB: ") == 0);
  BenchJob small = bench.job("small", through_scratch);
  small.scratch = {scratch(count, false)};
  CHECK(session.bench(small).outcome == Outcome::ok);
}

TEST_CASE("On a CPU scratch may take less than kernels may: they are stopped at half of what is free") {
  ScratchBench bench;
  bench.device.device_info.backend = "host";
  bench.device.device_info.vendor = "cpu";
  bench.available_bytes = 100 << 20;
  const BenchAnswer answer = bench.run_with("large", scratch(50 << 18, false), through_scratch);
  CHECK(answer.outcome == Outcome::rejected);
  CHECK(answer.message == "scratch buffer 'work' f32[13107200] takes 50 MiB: 40 MiB of memory may be taken now");
  CHECK(bench.run_with("right", scratch(30 << 18, false), through_scratch).outcome == Outcome::ok);
}

TEST_CASE("In finals, each configuration keeps its scratch, and a guard zone's damage names the culprit") {
  ScratchBench bench;
  BenchSession session(bench.device, bench.open, bench.clock);
  BenchJob right = bench.job("right", through_scratch), zeroed = bench.job("zeroed", added_to_scratch);
  right.scratch = {scratch(2 * count, false)};
  zeroed.scratch = {scratch(count, true)};
  CHECK(session.measure_rounds({{right, zeroed}, {{0, 1}, {1, 0}}}).outcome == Outcome::ok);
  BenchJob bad = bench.job("bad", [](const FakeLaunch& call) {
    call.buffer<float>(2)[count] = 0;
    return through_scratch(call);
  });
  bad.scratch = {scratch(count, false)};
  const RoundsAnswer answer = session.measure_rounds({{right, bad}, {{0, 1}, {1, 0}}});
  CHECK(answer.outcome == Outcome::wrong_result);
  CHECK(answer.failed == 1);
}
