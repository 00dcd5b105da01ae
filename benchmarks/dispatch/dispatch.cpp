// What calling a kernel through xtune costs above the driver's own launch call, in nanoseconds.
//
//   bench_dispatch                      all that this machine can do: a driver that does nothing, and each GPU
//   bench_dispatch --benchmark_filter=cuda
//
// above_raw_ns is the difference of two medians, of batches of launches that alternate, so that clocks and caches are
// the same for both.
#include <benchmark/benchmark.h>
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "backends/backend.hpp"
#include "core/device/backend_facts.hpp"
#include "dispatch/kernel_state.hpp"
#include "system/files.hpp"

using namespace xtune::backend;
using namespace xtune::system;
using namespace xtune::build;
using namespace xtune::device;
using namespace xtune::measure;
using namespace xtune::spec;

namespace xtune {
namespace {

using Clock = std::chrono::steady_clock;
using RawLaunch = int (*)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**,
                          void**);

constexpr const char* source =
    "extern \"C\" __global__ void nothing(const float* x, float* y, int n, float* work) {}\n";

/// A driver whose launch is one call that does nothing.
[[gnu::noinline]] int no_launch(void* handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                void*, void** parameters, void**) {
  benchmark::DoNotOptimize(handle);
  benchmark::DoNotOptimize(parameters[0]);
  return 0;
}

class NoDriver final : public Runtime {
 public:
  std::uintptr_t current() noexcept override { return 1; }
  void adopt(std::uintptr_t) override {}
  DeviceInfo device() override {
    DeviceInfo info = *known_device("sm_90");
    info.backend = "cuda";
    return info;
  }
  LoadedKernel load(const Artifact&, const Launch&, std::size_t) override { return {this, std::nullopt, {}}; }
  int launch(void* handle, const Launch& l, void* stream, void** parameters) noexcept override {
    return no_launch(handle, l.grid[0], l.grid[1], l.grid[2], l.block[0], l.block[1], l.block[2], l.shared_bytes,
                     stream, parameters, nullptr);
  }
  std::string describe(int) override { return ""; }
  std::optional<std::size_t> accessible_bytes(const void*, std::size_t) noexcept override { return std::nullopt; }
  Queue queue_of(void* stream) noexcept override { return {1, stream, 0}; }
  int zero(void*, std::size_t, void*) noexcept override { return 0; }
  void read(void*, const void*, std::size_t, void*) override {}
  void write(void*, const void*, std::size_t) override {}
  void snapshot(void*, const void*, std::size_t) override {}

 private:
  std::shared_ptr<void> allocate(std::size_t bytes, void*, bool) override {
    return std::shared_ptr<std::byte[]>(new std::byte[bytes]);
  }
};

/// What the caller passes: all arguments, all but scratch, or arrays.
enum class Pass { all, without_scratch, arrays };

class NoCompiler final : public Toolchain {
 public:
  std::string fingerprint() override { return "none"; }
  std::string default_arch() override { return "sm_90"; }
  Artifact compile(const CompileRequest& request) override {
    Artifact artifact;
    artifact.arch = request.arch;
    artifact.format = "cubin";
    artifact.entry_symbol = request.entry;
    artifact.image = "nothing";
    return artifact;
  }
};

/// A kernel that does nothing, with a context to launch it in where there is a device.
struct Bench {
  TemporaryDirectory folder;
  std::unique_ptr<Device> device;  ///< keeps the context
  std::shared_ptr<Runtime> runtime;
  RawLaunch raw = no_launch;
  void* handle = nullptr;
  std::unique_ptr<Kernel> kernel;
  std::unique_ptr<Buffer> x, y;
  float values[256] = {};
  const float* in = values;
  float* out = values;

  Bench(const std::string& backend_name, bool checked) {
    std::ofstream(folder.path() / "nothing.cu") << source;
    dispatch::Parts parts;
    parts.spec = parse_spec(
        "[kernel]\nname = \"nothing\"\nsource = \"nothing.cu\"\n[problem]\nN = 1024\n"
        "[space.params]\nBLOCK = [64]\n[launch]\ngrid = [1]\nblock = [\"BLOCK\"]\n"
        "[[args]]\nname = \"x\"\ndtype = \"f32\"\nshape = [256]\n"
        "[[args]]\nname = \"y\"\ndtype = \"f32\"\nshape = [256]\nrole = \"out\"\n"
        "[[args]]\nname = \"n\"\nkind = \"scalar\"\ndtype = \"i32\"\nvalue = \"N\"\n"
        "[[args]]\nname = \"work\"\ndtype = \"f32\"\nshape = [256]\nrole = \"scratch\"\n",
        "nothing.toml", folder.path());
    if (backend_name == "none") {
      runtime = std::make_shared<NoDriver>();
      parts.open_toolchain = [](const std::string&) { return std::make_unique<NoCompiler>(); };
      handle = runtime.get();
    } else {
      const std::shared_ptr<Backend> backend = make_backend(backend_name);
      device = backend->open_device(0);
      runtime = backend->open_runtime();
      parts.open_toolchain = [backend](const std::string&) { return backend->open_toolchain(); };
      x = device->allocate(1024);
      y = device->allocate(1024);
      in = static_cast<const float*>(x->address());
      out = static_cast<float*>(y->address());
      const bool amd = device->info().vendor == "amd";
      void* const library = dlopen(amd ? "libamdhip64.so" : "libcuda.so.1", RTLD_NOW);
      raw = library ? reinterpret_cast<RawLaunch>(dlsym(library, amd ? "hipModuleLaunchKernel" : "cuLaunchKernel"))
                    : nullptr;
      if (!raw) throw Error(ErrorKind::unavailable, "the driver's launch call was not found");
      CompileRequest request;
      request.source_name = "nothing.cu";
      request.source = source;
      request.entry = "nothing";
      request.arch = device->info().arch;
      handle = runtime->load(backend->open_toolchain()->compile(request), {}, 0).handle;
    }
    parts.runtime = runtime;
    LoadSettings settings;
    settings.store = folder.path() / "store";
    settings.checked = checked;
    kernel = std::make_unique<Kernel>(dispatch::make_kernel(std::move(parts), settings));
  }
  void launch_raw(int n) {
    void* parameters[] = {&in, &out, &n, &out};
    raw(handle, 1, 1, 1, 64, 1, 1, 0, nullptr, parameters, nullptr);
  }
  void launch(Pass pass, int n) {
    if (pass == Pass::all)
      (*kernel)(nullptr, in, out, n, out);
    else if (pass == Pass::without_scratch)
      (*kernel)(nullptr, in, out, n);
    else
      (*kernel)(nullptr, Array(in, {256}), Array(out, {256}));
  }
  void wait() {
    float value = 0;
    runtime->read(&value, in, sizeof value, nullptr);
  }
};

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

template <class Launch>
double batch_ns(int count, Launch launch) {
  const auto start = Clock::now();
  for (int i = 0; i < count; ++i) launch(i);
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count() / count;
}

/// Alternating batches; few enough launches in each that the driver's queue never fills.
void above_raw(benchmark::State& state, const std::string& backend, bool checked, int problems, Pass pass = Pass::all) {
  constexpr int batch = 200;
  Bench bench(backend, checked);
  for (int n = 1; n <= problems; ++n) bench.launch(pass, n);
  bench.wait();
  std::vector<double> raw, own;
  for (auto _ : state) {
    raw.push_back(batch_ns(batch, [&](int i) { bench.launch_raw(1 + i % problems); }));
    bench.wait();
    own.push_back(batch_ns(batch, [&](int i) { bench.launch(pass, 1 + i % problems); }));
    bench.wait();
    state.SetIterationTime(own.back() * 1e-9);
  }
  state.counters["raw_ns"] = median(raw);
  state.counters["xtune_ns"] = median(own);
  state.counters["above_raw_ns"] = median(own) - median(raw);
}

void lookup(benchmark::State& state) {
  dispatch::Table table;
  const auto key_of = [](std::uint64_t n) {
    dispatch::Key key;
    key.words[0] = 0x7f0000001000;
    key.words[1] = 1;
    key.words[2] = n;
    key.words[3] = n + 1;
    key.words[4] = 64;
    key.count = 5;
    return key;
  };
  const auto problems = static_cast<std::uint64_t>(state.range(0));
  for (std::uint64_t n = 0; n < problems; ++n) {
    dispatch::Prepared entry;
    entry.key = key_of(n);
    table.put(std::move(entry));
  }
  std::uint64_t n = 0;
  for (auto _ : state) {
    const dispatch::Key key = key_of(n = (n + 1) % problems);
    benchmark::DoNotOptimize(table.find(key, key.hash()));
  }
}
BENCHMARK(lookup)->Arg(1)->Arg(100)->Arg(10000);

bool has_device(const std::string& backend) {
  try {
    return !make_backend(backend)->list_devices().devices.empty();
  } catch (const Error&) {
    return false;
  }
}

void add(const std::string& backend) {
  const auto add = [&](const std::string& name, bool checked, int problems, Pass pass) {
    benchmark::RegisterBenchmark((backend + "/" + name).c_str(),
                                 [=](benchmark::State& state) { above_raw(state, backend, checked, problems, pass); })
        ->UseManualTime()
        ->Iterations(backend == "none" ? 5000 : 2000);
  };
  for (const bool checked : {false, true})
    for (const int problems : {1, 100})
      add((checked ? "checked/problems:" : "unchecked/problems:") + std::to_string(problems), checked, problems,
          Pass::all);
  add("checked/without_scratch", true, 1, Pass::without_scratch);
  add("checked/arrays", true, 1, Pass::arrays);
}

}  // namespace
}  // namespace xtune

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  xtune::add("none");
  for (const std::string& backend : xtune::device::backend_names()) {
    if (backend == "host") continue;
    if (xtune::has_device(backend))
      xtune::add(backend);
    else
      std::fprintf(stderr, "no %s device: not measured\n", backend.c_str());
  }
  benchmark::RunSpecifiedBenchmarks();
}
