// Devices, buffers and programs over a fake driver: the order of calls, what failures mean, and that nothing leaks.
#include <doctest/doctest.h>

#include <cstring>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "backends/gpu/device.hpp"
#include "fakes/fake_driver.hpp"
#include "xtune/error.hpp"
#include "xtune/outcome.hpp"

using namespace xtune::build;
using namespace xtune::device;
using namespace xtune::measure;

using namespace xtune;
using fakes::FakeDriver;

namespace {

DeviceInfo fake_info() {
  DeviceInfo info;
  info.name = "Fake GPU";
  info.vendor = "nvidia";
  info.arch = "sm_90";
  info.shared_per_block = 49152;
  info.shared_per_block_optin = 232448;
  info.registers_per_block = 65536;
  info.compute_units = 8;
  return info;
}

Artifact fake_artifact() {
  Artifact artifact;
  artifact.image = std::string("image\0with NUL", 14);
  artifact.entry_symbol = "kernel";
  return artifact;
}

ScalarArgument scalar(std::int32_t value) {
  const std::span<const std::byte> bytes = std::as_bytes(std::span(&value, 1));
  return {{bytes.begin(), bytes.end()}};
}

struct FakeSetup {
  std::shared_ptr<FakeDriver> driver = std::make_shared<FakeDriver>();
  std::unique_ptr<Device> device = gpu::make_device(fakes::make_fake_driver(driver), fake_info());
};

template <class Call>
Outcome outcome_of(Call call) {
  try {
    call();
  } catch (const CandidateFailure& failure) {
    return failure.outcome();
  }
  return Outcome::ok;
}

template <class Call>
std::string message_of(Call call) {
  try {
    call();
  } catch (const std::exception& error) {
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("buffers hold bytes, and know their ends") {
  FakeSetup s;
  auto buffer = s.device->allocate(16);
  REQUIRE(buffer->size() == 16);
  std::array<std::byte, 16> bytes{};
  buffer->fill(0, 16, std::byte{0xA5});
  buffer->read(0, bytes);
  CHECK(bytes[15] == std::byte{0xA5});
  const std::array<std::byte, 4> four{std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}};
  buffer->write(12, four);
  buffer->read(0, bytes);
  CHECK(bytes[11] == std::byte{0xA5});
  CHECK(bytes[12] == std::byte{1});
  CHECK(bytes[15] == std::byte{4});

  const auto calls = s.driver->calls.size();
  CHECK_THROWS_AS(buffer->write(13, four), std::out_of_range);
  CHECK_THROWS_AS(buffer->read(1, bytes), std::out_of_range);
  CHECK_THROWS_AS(buffer->fill(17, 0, std::byte{}), std::out_of_range);
  CHECK_THROWS_AS(buffer->fill(8, std::numeric_limits<std::size_t>::max() - 4, std::byte{}), std::out_of_range);
  buffer->write(16, {});
  CHECK(s.driver->calls.size() == calls);
}

TEST_CASE("an empty buffer has an address to pass to a kernel") {
  FakeSetup s;
  auto buffer = s.device->allocate(0);
  CHECK(buffer->size() == 0);
  CHECK(buffer->address() != nullptr);
  CHECK_THROWS_AS(buffer->fill(0, 1, std::byte{}), std::out_of_range);
}

TEST_CASE("a lack of memory is not the candidate's fault, a dead device is") {
  FakeSetup s;
  s.driver->failures["allocate"] = FakeDriver::out_of_memory;
  try {
    s.device->allocate(std::size_t{3} << 30);
    FAIL("allocated");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::unavailable);
    CHECK(std::string(error.what()).find("Fake GPU") != std::string::npos);
    CHECK(std::string(error.what()).find("smaller problem") != std::string::npos);
  }
  s.driver->failures["allocate"] = FakeDriver::fault;
  CHECK(outcome_of([&] { s.device->allocate(1); }) == Outcome::crashed);
}

TEST_CASE("transfers on a dead device throw crashed") {
  FakeSetup s;
  auto buffer = s.device->allocate(4);
  s.driver->dead = true;
  std::array<std::byte, 4> bytes{};
  CHECK(outcome_of([&] { buffer->read(0, bytes); }) == Outcome::crashed);
  CHECK(outcome_of([&] { buffer->write(0, bytes); }) == Outcome::crashed);
  CHECK(outcome_of([&] { buffer->fill(0, 4, std::byte{}); }) == Outcome::crashed);
}

TEST_CASE("a timed run flushes, then queues event, kernel, event, and waits last") {
  FakeSetup s;
  auto buffer = s.device->allocate(8);
  auto program = s.device->load(fake_artifact(), Launch{});
  CHECK(s.driver->loaded_image == fake_artifact().image);
  const KernelArgument arguments[] = {buffer.get(), scalar(42)};
  s.driver->calls.clear();
  const Sample sample = program->run({arguments, true, 1 << 20});
  CHECK(sample.time_ms == doctest::Approx(1.5));
  CHECK(s.driver->calls == std::vector<std::string>{"allocate", "fill", "record_event", "launch", "record_event",
                                                    "synchronize_event", "elapsed_ms"});
  CHECK(s.driver->filled_bytes == 1 << 20);

  void* address = nullptr;
  std::memcpy(&address, s.driver->launched_values[0].data(), sizeof(address));
  CHECK(address == buffer->address());
  std::int32_t value = 0;
  std::memcpy(&value, s.driver->launched_values[1].data(), sizeof(value));
  CHECK(value == 42);
}

TEST_CASE("flush memory is allocated once, and again only to grow") {
  FakeSetup s;
  auto buffer = s.device->allocate(8);
  auto program = s.device->load(fake_artifact(), Launch{});
  auto other = s.device->load(fake_artifact(), Launch{});
  const KernelArgument arguments[] = {buffer.get(), scalar(1)};
  s.driver->calls.clear();
  program->run({arguments, true, 100});
  other->run({arguments, true, 50});
  CHECK(s.driver->filled_bytes == 50);
  program->run({arguments, true, 200});
  program->run({arguments, true, 0});
  CHECK(s.driver->only({"allocate", "free", "fill"}) ==
        std::vector<std::string>{"allocate", "fill", "fill", "free", "allocate", "fill"});
}

TEST_CASE("an untimed run waits and reads no clock") {
  FakeSetup s;
  auto buffer = s.device->allocate(8);
  auto program = s.device->load(fake_artifact(), Launch{});
  const KernelArgument arguments[] = {buffer.get(), scalar(1)};
  s.driver->calls.clear();
  CHECK(program->run({arguments, false, 0}).time_ms == 0);
  CHECK(s.driver->calls == std::vector<std::string>{"launch", "synchronize_stream"});
}

TEST_CASE("outcomes of a failing run") {
  FakeSetup s;
  auto buffer = s.device->allocate(8);
  auto program = s.device->load(fake_artifact(), Launch{});
  const KernelArgument arguments[] = {buffer.get(), scalar(1)};
  const auto run = [&](bool timed) { return [&, timed] { program->run({arguments, timed, 0}); }; };

  SUBCASE("the driver refuses the launch: the device lives on") {
    s.driver->failures["launch"] = FakeDriver::refused;
    CHECK(outcome_of(run(true)) == Outcome::launch_failed);
    s.driver->failures.clear();
    CHECK(outcome_of(run(true)) == Outcome::ok);
  }
  SUBCASE("the kernel faults while timed") {
    s.driver->failures["synchronize_event"] = FakeDriver::fault;
    CHECK(message_of(run(true)) == "running the kernel: FAKE_FAULT: illegal address");
    CHECK(outcome_of(run(true)) == Outcome::crashed);
  }
  SUBCASE("the kernel faults while warming up") {
    s.driver->failures["synchronize_stream"] = FakeDriver::fault;
    CHECK(outcome_of(run(false)) == Outcome::crashed);
  }
  SUBCASE("an earlier fault shows at the launch") {
    s.driver->failures["launch"] = FakeDriver::fault;
    CHECK(outcome_of(run(true)) == Outcome::crashed);
  }
  SUBCASE("the fault shows at the flush") {
    s.driver->dead = true;
    CHECK(outcome_of([&] { program->run({arguments, true, 64}); }) == Outcome::crashed);
  }
}

TEST_CASE("arguments that do not fit the kernel never reach the driver") {
  FakeSetup s;
  auto buffer = s.device->allocate(8);
  auto program = s.device->load(fake_artifact(), Launch{});
  const KernelArgument too_few[] = {buffer.get()};
  const KernelArgument wrong_size[] = {buffer.get(), buffer.get()};
  s.driver->calls.clear();
  CHECK(outcome_of([&] { program->run({too_few, true, 0}); }) == Outcome::launch_failed);
  CHECK(message_of([&] {
          program->run({wrong_size, true, 0});
        }) == "kernel 'kernel' takes 2 parameters of [8, 4] bytes, but the spec's args are 2 of [8, 8] bytes");
  CHECK(s.driver->calls.empty());
}

TEST_CASE("limits are checked before loading, with the compiler's numbers") {
  FakeSetup s;
  Artifact artifact = fake_artifact();
  Launch launch;
  SUBCASE("threads") { launch.block = {64, 32, 1}; }
  SUBCASE("shared") {
    artifact.usage.static_shared_bytes = 200000;
    launch.shared_bytes = 100000;
  }
  SUBCASE("registers") {
    artifact.usage.registers = 128;
    launch.block = {1024, 1, 1};
  }
  SUBCASE("launch bounds") {
    artifact.usage.max_threads_per_block = 128;
    launch.block = {256, 1, 1};
  }
  s.driver->calls.clear();
  CHECK(outcome_of([&] { s.device->load(artifact, launch); }) == Outcome::rejected);
  CHECK(s.driver->calls.empty());
}

TEST_CASE("and after loading, with the driver's") {
  FakeSetup s;
  Launch launch;
  launch.block = {512, 1, 1};
  SUBCASE("threads") { s.driver->attributes.max_threads_per_block = 256; }
  SUBCASE("registers") { s.driver->attributes.registers = 255; }
  SUBCASE("shared") {
    s.driver->attributes.static_shared_bytes = 40000;
    launch.shared_bytes = 200000;
  }
  const int objects = s.driver->open_objects;
  CHECK(outcome_of([&] { s.device->load(fake_artifact(), launch); }) == Outcome::rejected);
  CHECK(s.driver->open_objects == objects);
}

TEST_CASE("loading fails: launch_failed or crashed, and nothing stays loaded") {
  FakeSetup s;
  const int objects = s.driver->open_objects;
  for (const char* call : {"load_module", "find_function", "function_attributes"}) {
    CAPTURE(call);
    s.driver->failures = {{call, FakeDriver::refused}};
    CHECK(outcome_of([&] { s.device->load(fake_artifact(), Launch{}); }) == Outcome::launch_failed);
    CHECK(s.driver->open_objects == objects);
  }
  s.driver->failures = {{"load_module", FakeDriver::fault}};
  CHECK(outcome_of([&] { s.device->load(fake_artifact(), Launch{}); }) == Outcome::crashed);
  CHECK(s.driver->open_objects == objects);
}

TEST_CASE("a variable of the module is a buffer that the module keeps") {
  FakeSetup s;
  build::Artifact artifact = fake_artifact();
  artifact.variables = {"_ZN4conv6filterE"};
  const auto program = s.device->load(artifact, Launch{});
  const int objects = s.driver->open_objects;
  {
    const auto variable = program->variable(0);
    CHECK(s.driver->looked_for == "_ZN4conv6filterE");
    REQUIRE(variable->size() == 16);
    const std::array<std::byte, 4> word = {std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}};
    variable->write(12, word);
    CHECK_THROWS_AS(variable->write(13, word), std::out_of_range);
    CHECK(s.driver->variable[15] == 4);
  }
  CHECK(s.driver->open_objects == objects);
  CHECK(s.driver->only({"free"}).empty());
  CHECK_THROWS_AS(program->variable(1), std::out_of_range);
  s.driver->failures = {{"find_variable", FakeDriver::refused}};
  CHECK(outcome_of([&] { program->variable(0); }) == Outcome::launch_failed);
}

TEST_CASE("memory that the device has not left is the machine's lack, not the kernel's fault") {
  FakeSetup s;
  const auto lack_in = [](auto call) {
    try {
      call();
    } catch (const CandidateFailure& failure) {
      return lack_of(failure);
    }
    return Lack::none;
  };
  const auto load = [&] { return s.device->load(fake_artifact(), Launch{}); };
  s.driver->failures = {{"load_module", FakeDriver::out_of_memory}};
  CHECK(lack_in(load) == Lack::memory);
  s.driver->failures = {{"load_module", FakeDriver::refused}};
  CHECK(lack_in(load) == Lack::none);
  s.driver->failures.clear();
  s.driver->parameter_bytes.clear();
  auto program = load();
  const auto run = [&] { program->run({{}, true, 0}); };
  s.driver->failures = {{"launch", FakeDriver::out_of_memory}};
  CHECK(lack_in(run) == Lack::memory);
  s.driver->failures = {{"launch", FakeDriver::refused}};
  CHECK(lack_in(run) == Lack::none);
}

TEST_CASE("large dynamic shared memory is opted in to, small is not") {
  FakeSetup s;
  Launch launch;
  launch.shared_bytes = 40000;
  s.device->load(fake_artifact(), launch);
  CHECK(s.driver->opted_in == 0);
  s.driver->attributes.static_shared_bytes = 10000;  // 50000 together
  s.device->load(fake_artifact(), launch);
  CHECK(s.driver->opted_in == 40000);
  s.driver->failures["allow_dynamic_shared"] = FakeDriver::refused;
  CHECK(outcome_of([&] { s.device->load(fake_artifact(), launch); }) == Outcome::launch_failed);
}

TEST_CASE("clusters go through their own call, and need a device that has them") {
  auto driver = std::make_shared<FakeDriver>();
  gpu::DriverApi api = fakes::make_fake_driver(driver);
  driver->parameter_bytes.clear();
  Launch launch;
  launch.grid = {4, 1, 1};
  launch.cluster = {2, 1, 1};
  SUBCASE("present") {
    auto device = gpu::make_device(std::move(api), fake_info());
    device->load(fake_artifact(), launch)->run({});
    CHECK(driver->only({"launch", "launch_cluster"}) == std::vector<std::string>{"launch_cluster"});
    launch.cluster = {3, 1, 1};
    CHECK(outcome_of([&] { device->load(fake_artifact(), launch); }) == Outcome::rejected);
  }
  SUBCASE("absent") {
    api.active_clusters = nullptr;
    auto device = gpu::make_device(std::move(api), fake_info());
    CHECK(outcome_of([&] { device->load(fake_artifact(), launch); }) == Outcome::rejected);
  }
}

TEST_CASE("everything is released, in any order of destruction") {
  auto driver = std::make_shared<FakeDriver>();
  driver->parameter_bytes.clear();
  auto device = gpu::make_device(fakes::make_fake_driver(driver), fake_info());
  auto buffer = device->allocate(8);
  auto program = device->load(fake_artifact(), Launch{});
  program->run({{}, true, 32});
  SUBCASE("device first") { device.reset(); }
  SUBCASE("device last") {
    program.reset();
    buffer.reset();
  }
  SUBCASE("after a fault") { driver->dead = true; }
  CHECK_FALSE(driver->closed);
  device.reset(), buffer.reset(), program.reset();
  CHECK(driver->open_objects == 0);
  CHECK(driver->closed);
}

TEST_CASE("a device that does not open is given back") {
  for (const char* call : {"create_stream", "create_event"}) {
    auto driver = std::make_shared<FakeDriver>();
    driver->failures[call] = FakeDriver::refused;
    CHECK_THROWS_AS(gpu::make_device(fakes::make_fake_driver(driver), fake_info()), Error);
    CHECK(driver->open_objects == 0);
    CHECK(driver->closed);
  }
}

TEST_CASE("a tensor map is encoded by the driver, and passed by value") {
  FakeSetup s;
  measure::TensorMap map;
  map.shape = {64};
  map.box = {16};
  map.element_strides = {1};
  auto buffer = s.device->allocate(256);
  const EncodedTensorMap encoded = s.device->encode(map, buffer->address());
  CHECK(s.driver->encoded == map);

  s.driver->parameter_bytes = {128, 8};
  auto program = s.device->load(fake_artifact(), Launch{});
  const KernelArgument arguments[] = {encoded, buffer.get()};
  program->run({arguments, false, 0});
  REQUIRE(s.driver->launched_values.size() == 2);
  CHECK(std::memcmp(s.driver->launched_values[0].data(), encoded.bytes.data(), 128) == 0);

  const KernelArgument wrong[] = {buffer.get(), encoded};
  CHECK(message_of([&] { program->run({wrong, false, 0}); }).find("args are 2 of [8, 128] bytes") != std::string::npos);
}

TEST_CASE("what the driver or the device cannot map rejects the configuration") {
  FakeSetup s;
  measure::TensorMap map;
  map.shape = {64};
  map.box = {16};
  map.element_strides = {1};
  alignas(64) std::array<char, 64> memory{};
  const auto encode = [&](Device& device, void* address) {
    return message_of([&] {
      try {
        device.encode(map, address);
      } catch (const CandidateFailure& failure) {
        CHECK(failure.outcome() == Outcome::rejected);
        throw;
      }
    });
  };
  CHECK(encode(*s.device, memory.data()).empty());
  CHECK(encode(*s.device, memory.data() + 8).find("8 bytes beyond a multiple of 16") != std::string::npos);
  s.driver->failures["encode_tensor_map"] = FakeDriver::refused;
  CHECK(encode(*s.device, memory.data()).find("the driver refuses the tensor map f32 shape [64]") == 0);

  DeviceInfo info = fake_info();
  info.arch = "sm_89";
  const auto older = gpu::make_device(fakes::make_fake_driver(std::make_shared<FakeDriver>()), info);
  CHECK(encode(*older, memory.data()).find("sm_89 has no tensor maps") == 0);
  gpu::DriverApi api = fakes::make_fake_driver(std::make_shared<FakeDriver>());
  api.encode_tensor_map = nullptr;
  const auto without = gpu::make_device(std::move(api), fake_info());
  CHECK(encode(*without, memory.data()) ==
        "Fake GPU (sm_90): the driver has no tensor maps; they need one for CUDA 12");
}

TEST_CASE("a cluster of which the device runs none is rejected with its size, and one that the driver refuses too") {
  FakeSetup s;
  Launch launch;
  launch.grid = {32, 1, 1};
  launch.block = {128, 1, 1};
  launch.cluster = {16, 1, 1};
  launch.shared_bytes = 60000;
  const auto load = [&] {
    return message_of([&] {
      try {
        s.device->load(fake_artifact(), launch);
      } catch (const CandidateFailure& failure) {
        CHECK(failure.outcome() == Outcome::rejected);
        throw;
      }
    });
  };
  CHECK(load().empty());
  // What the kernel may use decides how many fit.
  CHECK(s.driver->only({"allow_dynamic_shared", "active_clusters"}) ==
        std::vector<std::string>{"allow_dynamic_shared", "active_clusters"});
  s.driver->clusters = 0;
  CHECK(load() ==
        "Fake GPU (sm_90) cannot run a cluster of 16 blocks, each with 128 threads and 60000 bytes of dynamic shared "
        "memory: the driver counts 0 at once");
  s.driver->failures["active_clusters"] = FakeDriver::refused;
  CHECK(load().find("the driver refuses a cluster of 16 blocks") == 0);
  launch.cluster = {0, 0, 0};
  CHECK(load().empty());
}

TEST_CASE("a cooperative launch has at most the blocks that the driver counts as resident, and its own call") {
  FakeSetup s;
  Launch launch;
  launch.block = {128, 1, 1};
  launch.cooperative = true;
  launch.grid = {32, 1, 1};
  const auto load = [&] { return message_of([&] { s.device->load(fake_artifact(), launch); }); };
  CHECK(load().empty());
  launch.grid[0] = 33;
  CHECK(load() ==
        "a cooperative launch of 33 blocks exceeds the 32 that are resident at once (at most 4 for each of "
        "device.compute_units = 8)");
  launch.grid[0] = 32;
  s.driver->parameter_bytes.clear();
  for (const bool graph : {false, true}) {
    RunOptions options;
    options.graph = graph;
    const auto program = s.device->load(fake_artifact(), launch);
    s.driver->calls.clear();
    program->run(options);
    program->run(options);
    CHECK(s.driver->only({"launch"}).empty());
    CHECK(s.driver->only({"launch_cooperative", "captured launch_cooperative"}).size() == 2);
  }
  s.driver->failures["resident_blocks"] = FakeDriver::refused;
  CHECK(load().find("the driver does not count the blocks that are resident at once") == 0);
}

TEST_CASE("a device without cooperative launches says so") {
  auto driver = std::make_shared<FakeDriver>();
  gpu::DriverApi api = fakes::make_fake_driver(driver);
  api.resident_blocks = nullptr;
  Launch launch;
  launch.cooperative = true;
  const auto device = gpu::make_device(std::move(api), fake_info());
  CHECK(outcome_of([&] { device->load(fake_artifact(), launch); }) == Outcome::rejected);
}

TEST_CASE("a driver's refusal of a graph is a failed launch, and leaves nothing open") {
  for (const char* refusing : {"begin_capture", "end_capture", "launch_graph", "launch"}) {
    CAPTURE(refusing);
    FakeSetup s;
    const auto buffer = s.device->allocate(16);
    const KernelArgument arguments[] = {buffer.get(), scalar(1)};
    {
      const auto program = s.device->load(fake_artifact(), Launch{});
      RunOptions options{arguments, false};
      options.graph = true;
      program->run(options);
      const int before = s.driver->open_objects;
      s.driver->failures[refusing] = FakeDriver::refused;
      CHECK(outcome_of([&] { program->run(options); }) == Outcome::launch_failed);
      CHECK_FALSE(s.driver->capturing);
      s.driver->failures.clear();
      CHECK(outcome_of([&] { program->run(options); }) == Outcome::ok);
      CHECK(s.driver->open_objects == before + 1);  // the graph
      CHECK(s.driver->calls.back() == "synchronize_stream");
    }
    CHECK(s.driver->only({"destroy_graph"}).size() >= 1);
  }
}

TEST_CASE("a driver without graphs is named, with what is needed") {
  const auto driver = std::make_shared<FakeDriver>();
  gpu::DriverApi api = fakes::make_fake_driver(driver);
  CHECK(gpu::make_device(api, fake_info())->lack_of_graphs() == "");
  api.begin_capture = {};
  api.graphs_need = "a newer driver";
  CHECK(gpu::make_device(api, fake_info())->lack_of_graphs() ==
        "the driver of Fake GPU has no graphs; they need a newer driver");
}
