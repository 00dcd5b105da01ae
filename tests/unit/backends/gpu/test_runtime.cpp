// Launches in foreign contexts over a fake driver: one load for each context, allowances, failures.
#include <doctest/doctest.h>

#include <array>

#include "backends/gpu/driver_api.hpp"
#include "fakes/fake_driver.hpp"
#include "xtune/error.hpp"
#include "xtune/outcome.hpp"

using namespace xtune::backend;
using namespace xtune::build;
using namespace xtune::device;

namespace xtune::gpu {
namespace {

std::uintptr_t current_context = 1;
std::uintptr_t synchronized_context = 0;
Status sync_status = 0;
int launched = 0, allocated = 0;
void* capturing = nullptr;

struct Bed {
  std::shared_ptr<fakes::FakeDriver> driver = std::make_shared<fakes::FakeDriver>();
  std::shared_ptr<Runtime> runtime;

  Bed() {
    current_context = 1;
    launched = allocated = 0;
    capturing = nullptr;
    sync_status = 0;
    ContextApi context;
    context.current = [] { return current_context; };
    context.adopt = [](std::uintptr_t wanted) -> Status { return wanted == 9 ? 1 : (current_context = wanted, 0); };
    context.launch = [](void*, const Launch&, void*, void**) -> Status { return ++launched, 0; };
    context.capture_of = [](void* stream, std::uint64_t* id) -> Status { return *id = stream == capturing ? 5 : 0, 0; };
    context.allocate = [](void** address, std::size_t, void*, bool captured) -> Status {
      static std::byte memory[2];
      return *address = &memory[captured ? 1 : 0], allocated++, 0;
    };
    context.accessible_bytes = [](const void*) -> std::optional<std::size_t> { return 64; };
    context.owns = [](const void* address, std::uintptr_t* own) {
      if (address == nullptr) return false;
      *own = 7;
      return true;
    };
    context.synchronize = []() -> Status { return synchronized_context = current_context, sync_status; };
    context.device = [] { return *known_device("sm_90"); };
    context.advice = "call cudaSetDevice";
    runtime = make_runtime(fakes::make_fake_driver(driver), std::move(context));
  }
  LoadedKernel load(std::uint32_t shared = 0) const {
    Artifact artifact;
    artifact.key = "k";
    artifact.image = "image";
    Launch launch;
    launch.shared_bytes = shared;
    return runtime->load(artifact, launch, 0);
  }
  std::size_t count(const std::string& call) const { return driver->only({call}).size(); }
};

}  // namespace

TEST_CASE("an artifact is loaded once for each context and stays") {
  const Bed bed;
  CHECK(bed.load().handle == bed.load().handle);
  CHECK(bed.count("load_module") == 1);
  bed.runtime->adopt(2);
  bed.load();
  CHECK(bed.count("load_module") == 2);
  CHECK(bed.count("unload_module") == 0);
  CHECK(bed.load().parameter_bytes == std::vector<std::size_t>{8, 4});
}

TEST_CASE("the allowance of shared memory only grows") {
  const Bed bed;
  bed.load(100'000);
  CHECK(bed.driver->opted_in == 100'000);
  bed.load(60'000);
  CHECK(bed.driver->opted_in == 100'000);
  bed.load(200'000);
  CHECK(bed.driver->opted_in == 200'000);
  CHECK_THROWS_AS(bed.load(1'000'000), CandidateFailure);
}

TEST_CASE("a module whose kernel is not found is let go, and may be tried again") {
  const Bed bed;
  bed.driver->failures["find_function"] = fakes::FakeDriver::refused;
  CHECK_THROWS_AS(bed.load(), CandidateFailure);
  CHECK(bed.count("unload_module") == 1);
  bed.driver->failures.clear();
  CHECK(bed.load().handle != nullptr);
}

TEST_CASE("a timer flushes, and times what is queued in its own stream") {
  const Bed bed;
  {
    const auto timer = bed.runtime->make_timer();
    void* seen = nullptr;
    CHECK(timer->time_ms([&](void* stream) { seen = stream; }) > 0);
    CHECK(seen != nullptr);
    CHECK(bed.driver->filled_bytes >= std::size_t{3} << 22);
    CHECK_THROWS_AS(timer->time_ms([](void*) { throw std::runtime_error("of the launch"); }), std::runtime_error);
    bed.driver->failures["synchronize_event"] = fakes::FakeDriver::fault;
    CHECK_THROWS_AS(timer->time_ms([](void*) {}), CandidateFailure);
  }
  CHECK_FALSE(bed.driver->closed);  // the context is the application's
  current_context = 0;
  CHECK_THROWS_AS(bed.runtime->make_timer(), Error);
}

TEST_CASE("a thread without a context enters that of an address") {
  const Bed bed;
  int memory = 0;
  CHECK_FALSE(bed.runtime->enter_context_of(&memory));
  CHECK(current_context == 1);
  current_context = 0;
  CHECK_FALSE(bed.runtime->enter_context_of(nullptr));
  CHECK(bed.runtime->enter_context_of(&memory));
  CHECK(current_context == 7);
}

TEST_CASE("without a context it is said what to do") {
  const Bed bed;
  current_context = 0;
  CHECK_THROWS_WITH_AS(bed.load(), "this thread has no current context to launch in: call cudaSetDevice", Error);
  CHECK_THROWS_AS(bed.runtime->adopt(9), Error);
}

TEST_CASE("a launch is the driver's own, one with a cluster or a cooperative one goes another way") {
  const Bed bed;
  std::uint64_t first = 1;
  std::uint32_t second = 2;
  void* parameters[] = {&first, &second};
  const LoadedKernel kernel = bed.load();
  CHECK(bed.runtime->launch(kernel.handle, {}, nullptr, parameters) == 0);
  CHECK(launched == 1);
  Launch cluster;
  cluster.cluster = {2, 1, 1};
  CHECK(bed.runtime->launch(kernel.handle, cluster, nullptr, parameters) == 0);
  CHECK(launched == 1);
  CHECK(bed.count("launch_cluster") == 1);
  Launch cooperative;
  cooperative.cooperative = true;
  CHECK(bed.runtime->launch(kernel.handle, cooperative, nullptr, parameters) == 0);
  CHECK(launched == 1);
  CHECK(bed.count("launch_cooperative") == 1);
}

TEST_CASE("memory is read behind the stream's work; a failure is an error") {
  const Bed bed;
  int from = 5, to = 0;
  bed.runtime->read(&to, &from, sizeof from, nullptr);
  CHECK(to == 5);
  CHECK(bed.driver->only({"synchronize_stream", "copy_to_host"}) ==
        std::vector<std::string>{"synchronize_stream", "copy_to_host"});
  bed.driver->failures["synchronize_stream"] = fakes::FakeDriver::fault;
  CHECK_THROWS_AS(bed.runtime->read(&to, &from, sizeof from, nullptr), Error);
  capturing = &from;
  CHECK(bed.runtime->is_capturing(&from));
  CHECK_FALSE(bed.runtime->is_capturing(&to));
}

TEST_CASE("scratch is allocated once for each stream, apart for a graph, and zeroed in the stream") {
  const Bed bed;
  int first = 0, second = 0;
  const auto block = [&](void* stream, std::size_t bytes) {
    return bed.runtime->workspaces().block(bed.runtime->queue_of(stream), stream, bytes);
  };
  void* const own = block(&first, 100);
  CHECK(block(&first, 90) == own);
  CHECK(allocated == 1);
  block(&second, 100);
  CHECK(allocated == 2);
  capturing = &first;
  CHECK(block(&first, 100) != own);
  CHECK(allocated == 3);
  CHECK(bed.runtime->queue_of(reinterpret_cast<void*>(2)).order != reinterpret_cast<void*>(2));
  CHECK(bed.runtime->zero(own, 1, &second) == 0);
  CHECK(bed.count("fill") == 1);
}

TEST_CASE("a snapshot is taken in the memory's own context, and the thread keeps the one it has") {
  const Bed bed;
  const std::array<char, 64> from{'a', 'b'};
  std::array<char, 64> to{};
  bed.runtime->snapshot(to.data(), from.data(), to.size());
  CHECK(to == from);
  CHECK(synchronized_context == 7);
  CHECK(current_context == 1);
  CHECK_THROWS_WITH_AS(bed.runtime->snapshot(to.data(), from.data(), 65),
                       "65 bytes are asked for, and the allocation has 64 from this pointer on", Error);
  CHECK(current_context == 1);
  CHECK_THROWS_AS(bed.runtime->snapshot(to.data(), nullptr, 1), Error);
  sync_status = 5;
  CHECK_THROWS_AS(bed.runtime->snapshot(to.data(), from.data(), 1), Error);
  CHECK(current_context == 1);
}

}  // namespace xtune::gpu
