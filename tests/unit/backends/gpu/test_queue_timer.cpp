// Timing over a simulated device: exact times, nothing held for ever, and what happens where a part is missing.
#include <doctest/doctest.h>

#include <stdexcept>

#include "backends/gpu/device.hpp"
#include "fakes/simulated_gpu.hpp"
#include "xtune/error.hpp"
#include "xtune/outcome.hpp"

using namespace xtune::build;
using namespace xtune::device;
using namespace xtune::measure;

using namespace xtune;
using fakes::FakeDriver;
using fakes::SimulatedGpu;

namespace {

struct SimulatedSetup {
  SimulatedGpu gpu;
  std::unique_ptr<Device> device;

  void open(gpu::DriverApi api) {
    DeviceInfo info;
    info.name = "Simulated GPU";
    info.clock_khz = 1'980'000;
    device = gpu::make_device(std::move(api), info);
  }
  void open() { open(gpu.api()); }
  std::unique_ptr<Program> load() const {
    Artifact artifact;
    artifact.image = "image";
    artifact.entry_symbol = "kernel";
    return device->load(artifact, Launch{});
  }
};

const std::span<const KernelArgument> nothing;

}  // namespace

TEST_CASE("samples are the kernel's own time, on its own, after a flush and among others") {
  SimulatedSetup s;
  s.open();
  const auto program = s.load();
  program->run({nothing, false});
  for (const double ms : {0.0005, 0.002, 0.02, 2.0}) {
    s.gpu.kernels_ms["kernel"] = ms;
    CHECK(program->run({nothing}).time_ms == doctest::Approx(ms).epsilon(0.001));
    CHECK(program->run({nothing, true, 1 << 20}).time_ms == doctest::Approx(ms).epsilon(0.001));
    const std::vector<std::span<const KernelArgument>> more(49);
    const Sample batch = program->run({nothing, true, 0, more});
    CHECK(batch.time_ms == doctest::Approx(ms).epsilon(0.001));
    CHECK(batch.overhead_ms == doctest::Approx(0.001 + 0.0015 / 50).epsilon(0.01));
    CHECK(batch.clock_mhz == doctest::Approx(2000));
    CHECK_FALSE(batch.late);
  }
  const TimerInfo timer = s.device->timer();
  CHECK(timer.overhead.event_ms == doctest::Approx(0.0015).epsilon(0.001));
  CHECK(timer.overhead.launch_ms == doctest::Approx(0.001).epsilon(0.001));
  CHECK(timer.empty_pair_ms == doctest::Approx(0.0015).epsilon(0.001));
  CHECK(timer.holds_queue);
  CHECK(timer.note.empty());
  CHECK_FALSE(s.gpu.deadlocked);
}

TEST_CASE("a launch in a graph has the kernel's own time: what the graph and its nodes add is subtracted") {
  SimulatedSetup s;
  s.open();
  const auto program = s.load();
  RunOptions options{nothing};
  options.graph = true;
  options.timed = false;
  program->run(options);  // on its own, since it is the first
  CHECK(s.gpu.driver->only({"begin_capture", "launch_graph"}).empty());
  options.timed = true;
  for (const double ms : {0.0005, 0.02, 2.0}) {
    s.gpu.kernels_ms["kernel"] = ms;
    options.more = {};
    options.flush_bytes = 0;
    CHECK(program->run(options).time_ms == doctest::Approx(ms).epsilon(0.001));
    options.flush_bytes = 1 << 20;
    CHECK(program->run(options).time_ms == doctest::Approx(ms).epsilon(0.001));
    options.flush_bytes = 0;
    const std::vector<std::span<const KernelArgument>> more(49);
    options.more = more;
    const Sample batch = program->run(options);
    CHECK(batch.time_ms == doctest::Approx(ms).epsilon(0.001));
    CHECK(batch.overhead_ms == doctest::Approx(0.0002 + (0.0015 + 0.002) / 50).epsilon(0.01));
  }
  CHECK_FALSE(s.gpu.deadlocked);
  // Launches on their own still have their own overhead.
  CHECK(program->run({nothing}).time_ms == doctest::Approx(2.0).epsilon(0.001));
}

TEST_CASE("a graph is made once, is held, and the flush is outside of it") {
  SimulatedSetup s;
  s.open();
  const auto program = s.load();
  RunOptions options{nothing, true, 4096};
  options.graph = true;
  program->run({nothing, false});
  program->run(options);
  const auto captures = [&] { return s.gpu.driver->only({"begin_capture"}).size(); };
  const std::size_t made = captures();
  const std::vector<std::string> held{"xtune_hold", "fill", "event", "graph", "kernel", "event", "xtune_clock"};
  CHECK(s.gpu.queue == held);
  program->run(options);
  CHECK(captures() == made);
  CHECK(s.gpu.queue == held);
}

TEST_CASE("all that is timed is queued behind the hold, the flush before the first event") {
  SimulatedSetup s;
  s.open();
  const auto program = s.load();
  program->run({nothing, false});
  program->run({nothing, true, 4096});
  const std::vector<std::span<const KernelArgument>> more(2);
  program->run({nothing, true, 4096, more});
  CHECK(s.gpu.queue ==
        std::vector<std::string>{"xtune_hold", "fill", "event", "kernel", "kernel", "kernel", "event", "xtune_clock"});
}

TEST_CASE("buffers are zeroed before each launch, behind the first event, and in a graph") {
  SimulatedSetup s;
  s.open();
  const auto program = s.load();
  const auto large = s.device->allocate(64), small = s.device->allocate(8);
  Buffer* const zeroed[] = {large.get(), small.get()};
  const std::vector<std::span<const KernelArgument>> more(1);
  RunOptions options{nothing, true, 4096, more, false, zeroed};
  program->run({nothing, false});
  program->run(options);
  CHECK(s.gpu.queue == std::vector<std::string>{"xtune_hold", "fill", "event", "fill", "fill", "kernel", "fill", "fill",
                                                "kernel", "event", "xtune_clock"});
  CHECK(s.gpu.driver->filled_bytes == 8);
  options.graph = true;
  program->run(options);
  CHECK(s.gpu.queue == std::vector<std::string>{"xtune_hold", "fill", "event", "graph", "fill", "fill", "kernel",
                                                "fill", "fill", "kernel", "event", "xtune_clock"});
  options.zeroed = {};  // another graph
  program->run(options);
  CHECK(s.gpu.queue ==
        std::vector<std::string>{"xtune_hold", "fill", "event", "graph", "kernel", "kernel", "event", "xtune_clock"});
  CHECK_FALSE(s.gpu.deadlocked);
}

TEST_CASE("a kernel's first launch is not held: the driver may have to load it") {
  SimulatedSetup s;
  s.gpu.lazy = "kernel";
  s.open();
  CHECK_FALSE(s.load()->run({nothing}).late);
  CHECK_FALSE(s.gpu.deadlocked);
}

TEST_CASE("a launch that fails releases the queue") {
  SimulatedSetup s;
  s.open();
  const auto program = s.load();
  program->run({nothing, true});
  gpu::Status refused = 0;
  int left = 2;  // the hold, then the kernel
  gpu::DriverApi api = s.gpu.api();
  const auto launch = api.launch;
  api.launch = [&, launch](gpu::Function f, const Launch& l, gpu::Stream stream, void** p) -> gpu::Status {
    if (refused != 0 && --left == 0) return refused;
    return launch(f, l, stream, p);
  };
  s.open(std::move(api));
  const auto other = s.load();
  other->run({nothing, true});
  refused = FakeDriver::refused;
  CHECK_THROWS_AS(other->run({nothing, true}), CandidateFailure);
  refused = 0;
  CHECK(other->run({nothing, false}).time_ms == 0);
  CHECK_FALSE(s.gpu.deadlocked);
}

TEST_CASE("a slow host is told, and after three in a row nothing is held any more") {
  SimulatedSetup s;
  s.open();
  const auto program = s.load();
  program->run({nothing, false});
  CHECK_FALSE(program->run({nothing}).late);
  s.gpu.slow_host = 2;
  CHECK(program->run({nothing}).late);
  CHECK(program->run({nothing}).late);
  CHECK_FALSE(program->run({nothing}).late);
  CHECK(s.device->timer().holds_queue);
  s.gpu.slow_host = 3;
  for (int i = 0; i < 3; ++i) CHECK(program->run({nothing}).late);
  const TimerInfo timer = s.device->timer();
  CHECK_FALSE(timer.holds_queue);
  CHECK(timer.note.find("launch latency") != std::string::npos);
  s.gpu.queue.clear();
  CHECK_FALSE(program->run({nothing}).late);
  CHECK(s.gpu.queue == std::vector<std::string>{"event", "kernel", "event", "xtune_clock"});
}

TEST_CASE("where the timing kernels are missing, spans are plain event pairs and the reason is told") {
  SimulatedSetup s;
  gpu::DriverApi api = s.gpu.api();
  std::string reason;
  SUBCASE("no compiler") {
    api.timing_code = []() -> Artifact { throw Error(ErrorKind::unavailable, "no NVRTC here"); };
    reason = "no NVRTC here";
  }
  SUBCASE("it does not compile") {
    api.timing_code = []() -> Artifact { throw CandidateFailure(Outcome::compile_failed, "what is globaltimer?"); };
    reason = "what is globaltimer?";
  }
  SUBCASE("no mapped memory") {
    s.gpu.driver->failures["allocate_mapped"] = FakeDriver::refused;
    reason = "mapping host memory: FAKE_1";
  }
  SUBCASE("a driver without any of it") {
    api.allocate_mapped = nullptr;
    reason = "this driver has no host memory that the device can read";
  }
  s.open(std::move(api));
  CHECK(s.device->timer().note == reason);
  const auto program = s.load();
  program->run({nothing, false});
  s.gpu.queue.clear();
  const Sample sample = program->run({nothing, true, 4096});
  CHECK(s.gpu.queue == std::vector<std::string>{"fill", "event", "kernel", "event"});
  CHECK(sample.time_ms == doctest::Approx(0.004 + 0.001 + 0.0015 + 0.0005));
  CHECK(sample.overhead_ms == 0);
  CHECK(sample.clock_mhz == 0);
  s.device.reset();
}

TEST_CASE("the timer's objects are released with the device") {
  SimulatedSetup s;
  s.open();
  s.device->timer();
  SUBCASE("alive") {}
  SUBCASE("after a fault") { s.gpu.driver->dead = true; }
  s.device.reset();
  CHECK(s.gpu.driver->open_objects == 0);
}

TEST_CASE("a device that fails while the timer is made has crashed") {
  SimulatedSetup s;
  s.open();
  s.gpu.driver->failures["elapsed_ms"] = FakeDriver::fault;
  try {
    s.device->timer();
    FAIL("measured");
  } catch (const CandidateFailure& failure) {
    CHECK(failure.outcome() == Outcome::crashed);
  }
}
