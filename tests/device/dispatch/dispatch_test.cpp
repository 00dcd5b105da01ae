// Kernels called on a real GPU in a context that is there already: results, wrong pointers, threads without a context.
#include <fstream>
#include <thread>

#include "core/space/value.hpp"
#include "device/gpu_case.hpp"
#include "system/files.hpp"
#include "xtune/kernel.hpp"

using namespace xtune::backend;
using namespace xtune::system;
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

/// y = the part of x that a tensor map gives: N rows of 32.
void write_mapped(const std::filesystem::path& folder) {
  std::ofstream(folder / "mapped.cu") << R"(
struct alignas(64) Map { unsigned long long words[16]; };
__device__ unsigned shared_address(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
extern "C" __global__ void mapped(const __grid_constant__ Map x_map, int* y) {
  __shared__ alignas(128) int tile[ROWS * 32];
  __shared__ alignas(8) unsigned long long bar;
  const unsigned b = shared_address(&bar);
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(b) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(b), "r"((int)sizeof tile) : "memory");
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
                 ::"r"(shared_address(tile)), "l"(&x_map), "r"(0), "r"((int)blockIdx.x * ROWS), "r"(b) : "memory");
  }
  __syncthreads();
  asm volatile("{\n.reg .pred p;\nw: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0;\n@!p bra w;\n}" ::"r"(b)
               : "memory");
  for (int i = threadIdx.x; i < ROWS * 32; i += 64) y[blockIdx.x * ROWS * 32 + i] = tile[i];
})";
  std::ofstream(folder / "mapped.toml")
      << "[kernel]\nname = \"mapped\"\nsource = \"mapped.cu\"\nargs = [\"x_map\", \"y\"]\n[problem]\nN = 64\n"
         "[space.params]\nROWS = [16, 8]\n[launch]\ngrid = [\"N // ROWS\"]\nblock = [64]\n"
         "[[args]]\nname = \"x\"\ndtype = \"i32\"\nshape = [\"N\", 32]\n"
         "[[args]]\nname = \"x_map\"\nkind = \"tensor_map\"\nof = \"x\"\nbox = [\"ROWS\", 32]\n"
         "[[args]]\nname = \"y\"\ndtype = \"i32\"\nshape = [\"N\", 32]\nrole = \"out\"\n"
         "[[args]]\nname = \"n\"\ndtype = \"i32\"\nvalue = \"N\"\n"
         "[validate]\nreference = { kernel = \"copy\", source = \"copy.cu\", args = [\"x\", \"y\", \"n\"], "
         "grid = [\"N\"], block = [32] }\n[measure]\nrep = 5\nfinals = 2\n";
  std::ofstream(folder / "copy.cu") << "extern \"C\" __global__ void copy(const int* x, int* y, int n) {\n"
                                       "  if (blockIdx.x < n) y[blockIdx.x * 32 + threadIdx.x] = x[blockIdx.x * 32 + "
                                       "threadIdx.x];\n}\n";
}

}  // namespace

TEST_CASE("a call passes buffers, which the kernel reads through tensor maps") {
  for_each_gpu([](Gpu& gpu) {
    const DeviceInfo& info = gpu.device->info();
    if (measure::lack_of_tensor_maps(info)) return;
    const TemporaryDirectory folder;
    write_mapped(folder.path());
    LoadSettings settings;
    settings.backend = info.backend;
    settings.store = folder.path() / "store";
    const Kernel mapped = load(folder.path() / "mapped.toml", settings).for_problem({{"N", Value(64)}});
    constexpr std::size_t elements = 64 * 32;
    auto y = gpu.device->allocate(elements * sizeof(int));
    std::vector<std::unique_ptr<measure::Buffer>> inputs;
    std::vector<int> values(elements);
    for (int number = 0; number < 3; ++number) {
      inputs.push_back(gpu.device->allocate(elements * sizeof(int)));
      for (std::size_t i = 0; i < elements; ++i) values[i] = static_cast<int>(i) * 3 + number;
      inputs.back()->write(0, std::as_bytes(std::span(values)));
    }
    for (const int number : {0, 1, 2, 1}) {
      const auto* x = static_cast<const int*>(inputs[static_cast<std::size_t>(number)]->address());
      mapped(nullptr, x, static_cast<int*>(y->address()));
      y->read(0, std::as_writable_bytes(std::span(values)));
      int wrong = 0;
      for (std::size_t i = 0; i < elements; ++i) wrong += values[i] != static_cast<int>(i) * 3 + number;
      CHECK(wrong == 0);
    }
    const auto* off = static_cast<const int*>(inputs[0]->address()) + 1;
    CHECK_THROWS_AS(mapped(nullptr, off, static_cast<int*>(y->address())), Error);
    if (info.backend != "cuda") return;  // HIP does not tell such memory from the host's where the device reaches both
    const auto* freed = static_cast<const int*>(inputs[0]->address());
    inputs.erase(inputs.begin());
    CHECK_THROWS_WITH_AS(mapped(nullptr, freed, static_cast<int*>(y->address())),
                         doctest::Contains("'x', was given a pointer to memory that the device cannot reach"), Error);
  });
}

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
        MESSAGE(std::string(error.what()));
        return true;
      }
      return false;
    };
    CHECK(refused([&] { add(nullptr, in, out, n * 1000 * 1000, 1); }));
    CHECK(refused([&] { add(nullptr, static_cast<const int*>(nullptr), out, n, 1); }));
    // A thread begins without a context: that of the buffers is entered.
    std::thread([&] { CHECK_FALSE(refused([&] { add(nullptr, in, out, n, 1); })); }).join();
    y->read(0, std::as_writable_bytes(std::span(values)));
    for (int i = 0; i < n; ++i) REQUIRE(values[static_cast<std::size_t>(i)] == i + 1);
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
