// Samples of a fake program: the number of launches, their buffers, restored arguments, and repetitions.
#include <doctest/doctest.h>

#include "fakes/fake_device.hpp"
#include "worker/measurer.hpp"

using namespace xtune::build;
using namespace xtune::measure;
using namespace xtune::worker;

using namespace xtune;
using fakes::FakeDevice;
using fakes::FakeLaunch;

namespace {

struct SampledDevice {
  FakeDevice device;
  double kernel_ms = 1;
  std::vector<std::unique_ptr<Buffer>> buffers;
  std::unique_ptr<Program> program;
  Sampler::Plan plan;

  SampledDevice() {
    device.kernels["k"] = [this](const FakeLaunch&) { return kernel_ms; };
    Artifact artifact;
    artifact.key = "k";
    program = device.load(artifact, {});
    for (int i = 0; i < 3; ++i) {
      buffers.push_back(device.allocate(4));
      plan.sets.push_back({buffers.back().get()});
    }
  }
  /// Which buffer each launch took.
  std::vector<std::size_t> turns() const {
    std::vector<std::size_t> list;
    for (const FakeLaunch& launch : device.launches) {
      const auto found = std::find_if(buffers.begin(), buffers.end(),
                                      [&](const auto& buffer) { return buffer.get() == launch.buffers[0]; });
      list.push_back(static_cast<std::size_t>(found - buffers.begin()));
    }
    return list;
  }
};

}  // namespace

TEST_CASE("A sample of a short kernel is the mean of many launches, the sets taking turns throughout") {
  SampledDevice bench;
  bench.kernel_ms = 0.01;
  Sampler sampler(*bench.program, bench.plan);
  sampler.warm_up(2);
  CHECK(bench.device.launches.size() == 3);
  CHECK(bench.device.launches[2].timed);
  CHECK(sampler.sample_ms() == doctest::Approx(0.01));
  CHECK(sampler.sample_ms() == doctest::Approx(0.01));
  CHECK(sampler.telemetry().launches == 15);
  const auto turns = bench.turns();
  REQUIRE(turns.size() == 3 + 15 + 15);
  for (std::size_t i = 0; i < turns.size(); ++i) CHECK(turns[i] == i % 3);
}

TEST_CASE("A sample of a long kernel is one launch") {
  SampledDevice bench;
  bench.kernel_ms = 0.5;
  Sampler sampler(*bench.program, bench.plan);
  sampler.warm_up(0);
  CHECK(sampler.sample_ms() == 0.5);
  CHECK(bench.device.launches.size() == 2);
  CHECK(sampler.telemetry().launches == 1);
}

TEST_CASE("A flush or an in-place argument keeps launches apart; a sample of a short kernel is the mean of several") {
  SampledDevice bench;
  bench.kernel_ms = 0.001;
  int spans = 8;
  SUBCASE("shortest") {}
  SUBCASE("short") { bench.kernel_ms = 0.02, spans = 2; }
  SUBCASE("long enough") { bench.kernel_ms = 0.04, spans = 1; }
  std::vector<std::size_t> restored;
  SUBCASE("flush") { bench.plan.flush_bytes = 64; }
  SUBCASE("in place") {
    bench.plan.restore = [&](std::size_t set) { restored.push_back(set); };
  }
  if (bench.plan.flush_bytes == 0 && !bench.plan.restore) bench.plan.flush_bytes = 64;
  Sampler sampler(*bench.program, bench.plan);
  sampler.warm_up(2);
  for (int i = 0; i < 4; ++i) CHECK(sampler.sample_ms() == doctest::Approx(bench.kernel_ms));
  REQUIRE(bench.device.launches.size() == static_cast<std::size_t>(2 + 4 * spans));
  for (std::size_t i = 0; i < bench.device.launches.size(); ++i) {
    CHECK(bench.device.launches[i].timed == (i > 0));
    CHECK(bench.device.launches[i].flush_bytes == (i > 0 ? bench.plan.flush_bytes : 0));
  }
  CHECK(sampler.telemetry().launches == spans);
  if (bench.plan.restore) CHECK(restored == bench.turns());
}

TEST_CASE("Zeroed buffers do not keep launches apart, and each launch finds zeros") {
  SampledDevice bench;
  const auto zeroed = bench.device.allocate(4);
  zeroed->fill(0, 4, std::byte{1});
  bench.plan.zeroed = {zeroed.get()};
  int dirty = 0;
  bench.device.kernels["k"] = [&](const FakeLaunch&) {
    auto* const count = static_cast<std::int32_t*>(zeroed->address());
    if ((*count)++ != 0) ++dirty;
    return 0.01;
  };
  Sampler sampler(*bench.program, bench.plan);
  sampler.warm_up(2);
  sampler.sample_ms();
  sampler.run_on(4);
  CHECK(bench.device.launches.size() == 3 + 15 + 4);
  CHECK(dirty == 0);
  std::int32_t last = 0;
  zeroed->read(0, std::as_writable_bytes(std::span(&last, 1)));
  CHECK(last == 1);
}

TEST_CASE("Samples before the warm-up show how short a kernel is") {
  SampledDevice bench;
  bench.kernel_ms = 0.01;
  bench.plan.flush_bytes = 64;
  Sampler sampler(*bench.program, bench.plan);
  sampler.sample_ms();
  CHECK(bench.device.launches.size() == 1);
  sampler.warm_up(0);
  sampler.sample_ms();
  CHECK(bench.device.launches.size() == 1 + 4);
  sampler.warm_up(1);
  CHECK_FALSE(bench.device.launches.back().timed);
}

TEST_CASE("A late sample is taken again, on restored buffers, but not for ever") {
  SampledDevice bench;
  std::size_t restored = 0;
  bench.plan.restore = [&](std::size_t) { ++restored; };
  int late = 1;
  bench.device.dress = [&](Sample& sample) { sample.late = late-- > 0; };
  Sampler sampler(*bench.program, bench.plan);
  sampler.sample_ms();
  CHECK(bench.device.launches.size() == 2);
  CHECK(restored == 2);
  late = 1000;
  sampler.sample_ms();
  CHECK(bench.device.launches.size() == 2 + 3);
  CHECK(restored == 5);
}

TEST_CASE("Telemetry is the median clock and the overhead taken off") {
  SampledDevice bench;
  std::vector<double> clocks = {1200, 1980, 1900, 0};
  bench.device.dress = [&](Sample& sample) {
    sample.clock_mhz = clocks.back();
    sample.overhead_ms = 0.003;
    clocks.pop_back();
  };
  Sampler sampler(*bench.program, bench.plan);
  CHECK(sampler.telemetry().clock_mhz == 0);
  for (int i = 0; i < 4; ++i) sampler.sample_ms();
  CHECK(sampler.telemetry().clock_mhz == 1900);
  CHECK(sampler.telemetry().overhead_ms == 0.003);
}

TEST_CASE("a program that times itself is launched once per sample, and its reports are kept by sample") {
  SampledDevice bench;
  bench.device.times_itself = true;
  bench.kernel_ms = 1e-4;
  bench.plan.sets.resize(1);
  double next = 0;
  bench.device.dress = [&](Sample& sample) { sample.reported = {++next, -next}; };
  Sampler sampler(*bench.program, bench.plan);
  sampler.warm_up(0);
  CHECK(bench.device.launches.empty());
  sampler.warm_up(2);
  CHECK(bench.device.launches.size() == 2);
  for (int i = 0; i < 3; ++i) sampler.sample_ms();
  CHECK(bench.device.launches.size() == 5);
  CHECK(sampler.telemetry().launches == 1);
  CHECK(sampler.reported() == std::vector<std::vector<double>>{{1, 2, 3}, {-1, -2, -3}});
}

TEST_CASE("A sample during which the process was suspended is taken again") {
  SampledDevice bench;
  bench.plan.sets.resize(1);
  std::uint64_t suspended = 0;
  std::size_t launches = 0;
  // Suspended during the second and the third launch: the clock ran on.
  bench.device.kernels["k"] = [&](const FakeLaunch&) {
    ++launches;
    if (launches != 2 && launches != 3) return 1.0;
    ++suspended;
    return 33'000.0;
  };
  bench.plan.suspensions = [&] { return suspended; };
  Sampler sampler(*bench.program, bench.plan);
  CHECK(sampler.sample_ms() == 1);
  CHECK(sampler.sample_ms() == 1);
  CHECK(launches == 4);
}

TEST_CASE("A process that is suspended during each sample still gets a time") {
  SampledDevice bench;
  std::uint64_t suspended = 0;
  bench.plan.suspensions = [&] { return suspended++; };
  Sampler sampler(*bench.program, bench.plan);
  CHECK(sampler.sample_ms() == 1);
}
