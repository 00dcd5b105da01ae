// Several kernels of one image: their order, arguments, limits and failures on a GPU.
#include <doctest/doctest.h>

#include <cstring>
#include <map>

#include "backends/gpu/device.hpp"
#include "backends/gpu/driver_api.hpp"
#include "fakes/fake_driver.hpp"
#include "support/text.hpp"
#include "xtune/outcome.hpp"

using namespace xtune::build;
using namespace xtune::device;
using namespace xtune::fakes;
using namespace xtune::measure;

using namespace xtune;
using namespace xtune::test;

namespace {

/// A driver whose functions have names; it records what is launched.
struct NamedKernels {
  std::shared_ptr<FakeDriver> driver = std::make_shared<FakeDriver>();
  std::map<std::string, std::vector<std::size_t>> parameters{{"pack", {8, 4}}, {"multiply", {8, 8}}};
  std::map<std::string, std::uint32_t> allowed_shared;
  std::vector<std::string> launches;  ///< "pack 32: 7"
  std::string refused;                ///< the kernel that cannot be launched

  gpu::DriverApi api() {
    gpu::DriverApi api = make_fake_driver(driver);
    const auto name_of = [](gpu::Function function) { return *static_cast<const std::string*>(function); };
    api.find_function = [this](gpu::Function* function, gpu::Module, const char* symbol) -> gpu::Status {
      const auto found = parameters.find(symbol);
      if (found == parameters.end()) return FakeDriver::refused;
      *function = const_cast<std::string*>(&found->first);
      return 0;
    };
    api.parameter_sizes = [this](gpu::Function, const Artifact&, const std::string& symbol) {
      return std::optional(parameters.at(symbol));
    };
    api.allow_dynamic_shared = [this, name_of](gpu::Function function, std::uint32_t bytes) -> gpu::Status {
      return allowed_shared[name_of(function)] = bytes, 0;
    };
    api.launch = [this, name_of](gpu::Function function, const Launch& launch, gpu::Stream,
                                 void** values) -> gpu::Status {
      const std::string name = name_of(function);
      if (name == refused) return FakeDriver::refused;
      std::string text = name + " " + std::to_string(launch.block[0]) + ":";
      for (std::size_t i = 0; i < parameters.at(name).size(); ++i) {
        std::uint64_t value = 0;
        std::memcpy(&value, values[i], parameters.at(name)[i]);
        text += " " + std::to_string(value);
      }
      launches.push_back(text);
      return 0;
    };
    return api;
  }
};

DeviceInfo gpu_info() {
  DeviceInfo info;
  info.name = "Fake GPU", info.vendor = "nvidia", info.arch = "sm_90";
  info.max_threads_per_block = 1024, info.shared_per_block = 49152, info.shared_per_block_optin = 232448;
  return info;
}

Artifact two_kernels() {
  Artifact artifact;
  artifact.key = "k";
  artifact.image = "image";
  set_entries(artifact, {{"pack", {}}, {"multiply", {}}});
  return artifact;
}

/// pack(1, 2), multiply(0, 1), pack(0, 2), of three arguments.
LaunchPlan three_steps() {
  LaunchPlan plan;
  plan.steps = {{{{1, 1, 1}, {32, 1, 1}}, 0, {{1, 2}}, "step 1 'pack'"},
                {{{4, 1, 1}, {64, 1, 1}}, 1, {{0, 1}}, "step 2 'multiply'"},
                {{{1, 1, 1}, {96, 1, 1}}, 0, {{0, 2}}, "step 3 'pack'"}};
  return plan;
}

template <class T>
ScalarArgument value_of(T value) {
  const std::span<const std::byte> bytes = std::as_bytes(std::span(&value, 1));
  return {{bytes.begin(), bytes.end()}};
}

const std::vector<KernelArgument> values{value_of(std::uint64_t{10}), value_of(std::uint64_t{11}),
                                         value_of(std::uint32_t{12})};

template <class Call>
std::pair<Outcome, std::string> failure_in(const Call& call) {
  try {
    call();
  } catch (const CandidateFailure& failure) {
    return {failure.outcome(), failure.what()};
  }
  return {Outcome::ok, ""};
}

}  // namespace

TEST_CASE("steps are launched in order with their own arguments, and waited for once") {
  NamedKernels kernels;
  const auto device = gpu::make_device(kernels.api(), gpu_info());
  const auto program = device->load(two_kernels(), three_steps());
  CHECK(kernels.driver->only({"load_module"}).size() == 1);
  const std::size_t waits = kernels.driver->only({"synchronize_stream", "synchronize_event"}).size();
  program->run({values, false});
  CHECK(kernels.launches == std::vector<std::string>{"pack 32: 11 12", "multiply 64: 10 11", "pack 96: 10 12"});
  CHECK(kernels.driver->only({"synchronize_stream", "synchronize_event"}).size() == waits + 1);
}

TEST_CASE("buffers are zeroed before the first step of each launch") {
  NamedKernels kernels;
  const auto device = gpu::make_device(kernels.api(), gpu_info());
  const auto program = device->load(two_kernels(), three_steps());
  const auto buffer = device->allocate(8);
  Buffer* const zeroed[] = {buffer.get()};
  const std::vector<std::span<const KernelArgument>> more{values};
  program->run({values, false, 0, more, false, zeroed});
  CHECK(kernels.launches.size() == 6);
  CHECK(kernels.driver->only({"fill"}).size() == 2);
}

TEST_CASE("a sample of several sets runs all steps of a set before the next, and is the mean of the sets") {
  NamedKernels kernels;
  kernels.driver->ms = 6;
  const auto device = gpu::make_device(kernels.api(), gpu_info());
  const auto program = device->load(two_kernels(), three_steps());
  const std::vector<KernelArgument> others{value_of(std::uint64_t{20}), value_of(std::uint64_t{21}),
                                           value_of(std::uint32_t{22})};
  const std::vector<std::span<const KernelArgument>> more{others};
  CHECK(program->run({values, true, 0, more}).time_ms == 3);
  CHECK(kernels.launches == std::vector<std::string>{"pack 32: 11 12", "multiply 64: 10 11", "pack 96: 10 12",
                                                     "pack 32: 21 22", "multiply 64: 20 21", "pack 96: 20 22"});
}

TEST_CASE("a kernel may use the largest dynamic shared memory of its steps") {
  NamedKernels kernels;
  LaunchPlan plan = three_steps();
  plan.steps[0].launch.shared_bytes = 90000;
  plan.steps[1].launch.shared_bytes = 60000;
  plan.steps[2].launch.shared_bytes = 50000;
  gpu::make_device(kernels.api(), gpu_info())->load(two_kernels(), plan);
  CHECK(kernels.allowed_shared == std::map<std::string, std::uint32_t>{{"pack", 90000}, {"multiply", 60000}});
}

TEST_CASE("a failure names the step") {
  NamedKernels kernels;
  const auto device = gpu::make_device(kernels.api(), gpu_info());
  const auto program = device->load(two_kernels(), three_steps());
  SUBCASE("a launch that the driver refuses") {
    kernels.refused = "multiply";
    const auto [outcome, message] = failure_in([&] { program->run({values, false}); });
    CHECK(outcome == Outcome::launch_failed);
    CHECK(has(message, "launching step 2 'multiply'"));
    CHECK(kernels.launches.size() == 1);
  }
  SUBCASE("arguments that do not fit") {
    kernels.parameters["multiply"] = {8, 4};
    const auto other = device->load(two_kernels(), three_steps());
    const auto [outcome, message] = failure_in([&] { other->run({values, false}); });
    CHECK(outcome == Outcome::launch_failed);
    CHECK(has(message,
              "step 2 'multiply': kernel 'multiply' takes 2 parameters of [8, 4] bytes, but the step's args are "
              "2 of [8, 8] bytes"));
    CHECK(kernels.launches.empty());
  }
  SUBCASE("a limit") {
    LaunchPlan plan = three_steps();
    plan.steps[2].launch.block[0] = 2048;
    const auto [outcome, message] = failure_in([&] { device->load(two_kernels(), plan); });
    CHECK(outcome == Outcome::rejected);
    CHECK(has(message, "step 3 'pack': block.x = 2048 exceeds"));
  }
  SUBCASE("a kernel that the image lacks") {
    Artifact artifact = two_kernels();
    artifact.entries[1].symbol = "lost";
    const auto [outcome, message] = failure_in([&] { device->load(artifact, three_steps()); });
    CHECK(outcome == Outcome::launch_failed);
    CHECK(has(message, "step 2 'multiply': finding kernel 'lost'"));
  }
  SUBCASE("a fault, which the device reports after all of them") {
    kernels.driver->failures["synchronize_stream"] = FakeDriver::fault;
    const auto [outcome, message] = failure_in([&] { program->run({values, false}); });
    CHECK(outcome == Outcome::crashed);
    CHECK(has(message, "(in one of step 1 'pack', step 2 'multiply', step 3 'pack')"));
  }
}

TEST_CASE("an application loads the kernels of an artifact from one module") {
  NamedKernels kernels;
  gpu::ContextApi context;
  context.current = []() -> std::uintptr_t { return 1; };
  context.device = [] { return gpu_info(); };
  const auto runtime = gpu::make_runtime(kernels.api(), std::move(context));
  const Launch launch{{1, 1, 1}, {32, 1, 1}};
  const backend::LoadedKernel pack = runtime->load(two_kernels(), launch, 0);
  const backend::LoadedKernel multiply = runtime->load(two_kernels(), launch, 1);
  CHECK(*pack.parameter_bytes == std::vector<std::size_t>{8, 4});
  CHECK(*multiply.parameter_bytes == std::vector<std::size_t>{8, 8});
  CHECK(pack.handle != multiply.handle);
  CHECK(runtime->load(two_kernels(), launch, 1).handle == multiply.handle);
  CHECK(kernels.driver->only({"load_module"}).size() == 1);
}
