// Kernels called on a real GPU in a context that is there already: results, wrong pointers, threads without a context.
#include <fstream>
#include <thread>

#include "base/files.hpp"
#include "core/space/value.hpp"
#include "device/gpu_case.hpp"
#include "xtune/kernel.hpp"

using namespace xtune::backend;
using namespace xtune::base;
using namespace xtune::build;
using namespace xtune::device;

namespace xtune::testing {

namespace {

/// y = x + by.
void write_add(const std::filesystem::path& folder) {
  std::ofstream(folder / "add.cu") << "extern \"C\" __global__ void add(const int* x, int* y, int n, int by) {\n"
                                      "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                                      "  if (i < n) y[i] = x[i] + by + 0 * BLOCK;\n}\n";
  std::ofstream(folder / "add.toml")
      << "[kernel]\nname = \"add\"\nsource = \"add.cu\"\n[problem]\nN = 1000\n[space.params]\nBLOCK = [64, 128]\n"
         "[launch]\ngrid = [\"ceildiv(N, BLOCK)\"]\nblock = [\"BLOCK\"]\n"
         "[[args]]\nname = \"x\"\ndtype = \"i32\"\nshape = [\"N\"]\n"
         "[[args]]\nname = \"y\"\ndtype = \"i32\"\nshape = [\"N\"]\nrole = \"out\"\n"
         "[[args]]\nname = \"n\"\nkind = \"scalar\"\ndtype = \"i32\"\nvalue = \"N\"\n"
         "[[args]]\nname = \"by\"\nkind = \"scalar\"\ndtype = \"i32\"\nvalue = \"7\"\n";
}

}  // namespace

TEST_CASE("a kernel is called in the context that the thread has") {
  for_each_gpu([](Gpu& gpu) {
    const TemporaryDirectory folder;
    write_add(folder.path());
    LoadSettings settings;
    settings.backend = gpu.device->info().backend;
    settings.store = folder.path() / "store";
    const Kernel add = load(folder.path() / "add.toml", settings);

    constexpr int n = 1000;
    auto x = gpu.device->allocate(n * sizeof(int)), y = gpu.device->allocate(n * sizeof(int));
    std::array<int, n> values{};
    for (int i = 0; i < n; ++i) values[static_cast<std::size_t>(i)] = i;
    x->write(0, std::as_bytes(std::span(values)));
    const auto* in = static_cast<const int*>(x->address());
    auto* out = static_cast<int*>(y->address());
    for (int by = 1; by < 100; ++by) add(nullptr, in, out, n, by);
    y->read(0, std::as_writable_bytes(std::span(values)));
    for (int i = 0; i < n; ++i) REQUIRE(values[static_cast<std::size_t>(i)] == i + 99);

    const auto refused = [&](auto call) {
      try {
        call();
      } catch (const Error& error) {
        MESSAGE(error.what());
        return true;
      }
      return false;
    };
    CHECK(refused([&] { add(nullptr, in, out, n * 1000 * 1000, 1); }));
    CHECK(refused([&] { add(nullptr, static_cast<const int*>(nullptr), out, n, 1); }));
    // A thread of the driver API begins without a context; HIP's has a device from the start.
    if (settings.backend == "cuda") std::thread([&] { CHECK(refused([&] { add(nullptr, in, out, n, 1); })); }).join();
  });
}

TEST_CASE("a context that takes another's place gets its kernels loaded") {
  for_each_gpu([](Gpu& gpu) {
    const TemporaryDirectory folder;
    write_add(folder.path());
    LoadSettings settings;
    const std::string backend = settings.backend = gpu.device->info().backend;
    settings.store = folder.path() / "store";
    const Kernel add = load(folder.path() / "add.toml", settings);
    for (int time = 0; time < 3; ++time) {
      // The primary context is destroyed with its only user, and the next one may get the same address.
      gpu.device.reset();
      gpu.device = make_backend(backend)->open_device(0);
      auto x = gpu.device->allocate(1000 * sizeof(int)), y = gpu.device->allocate(1000 * sizeof(int));
      x->fill(0, 1000 * sizeof(int), std::byte{0});
      add(nullptr, static_cast<const int*>(x->address()), static_cast<int*>(y->address()), 1000, time + 1);
      int last = 0;
      y->read(999 * sizeof(int), std::as_writable_bytes(std::span(&last, 1)));
      CHECK(last == time + 1);
    }
  });
}

TEST_CASE("a winner is called in the context that the thread has, and its memory is copied for the library") {
  for_each_gpu([](Gpu& gpu) {
    const DeviceInfo& info = gpu.device->info();
    const Artifact artifact = gpu.compile(
        "extern \"C\" __global__ void k(const int* x, int* y, int n, int by) {\n"
        "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "  if (i < n) y[i] = x[i] + by;\n}\n");
    Result result;
    result.kernel_name = "k";
    result.problem = {{"N", Value(1000)}};
    result.device = {info.backend, info.name, info.arch, info.index};
    result.winner.emplace().config = {{"BY", Value(5)}};
    using Kind = WinningArgument::Kind;
    result.binary = WinningKernel{"",
                                  artifact.image,
                                  artifact.format,
                                  artifact.entry_symbol,
                                  {8, 1, 1},
                                  {128, 1, 1},
                                  0,
                                  artifact.arch,
                                  {0, 0, 0},
                                  {{"x", Kind::buffer, DType::i32, {1000}, "", {}},
                                   {"y", Kind::written, DType::i32, {1000}, "", {}},
                                   {"n", Kind::scalar, DType::i32, {}, "N", {}},
                                   {"by", Kind::scalar, DType::i32, {}, "BY", Value(5)}}};
    std::array<int, 1000> values{};
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int>(i);
    auto x = gpu.device->allocate(sizeof values), y = gpu.device->allocate(sizeof values);
    x->write(0, std::as_bytes(std::span(values)));
    const Kernel kernel = result.kernel();
    kernel(nullptr, static_cast<const int*>(x->address()), static_cast<int*>(y->address()), 1000);

    const std::shared_ptr<Runtime> runtime = make_backend(info.backend)->open_runtime();
    std::array<int, 1000> copy{};
    // Also on a thread that has no context yet, which it keeps having none of.
    std::thread([&] {
      const std::uintptr_t before = runtime->current();
      runtime->snapshot(copy.data(), y->address(), sizeof copy);
      CHECK(runtime->current() == before);
    }).join();
    for (std::size_t i = 0; i < copy.size(); ++i) REQUIRE(copy[i] == static_cast<int>(i) + 5);
    CHECK_THROWS_AS(runtime->snapshot(copy.data(), values.data(), 4), Error);
    CHECK_THROWS_AS(runtime->snapshot(copy.data(), y->address(), std::size_t{1} << 40), Error);

    result.binary->binary = "no image";
    CHECK_THROWS_AS(result.kernel().prepare({{"N", Value(1000)}}), Error);
  });
}

}  // namespace xtune::testing
