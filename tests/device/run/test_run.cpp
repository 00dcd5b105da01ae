// Kernels on a real GPU: results, times, limits and refusals that leave the device alive.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <span>

#include "core/measure/statistics.hpp"
#include "device/gpu_case.hpp"

using namespace xtune::build;
using namespace xtune::device;
using namespace xtune::measure;

using namespace xtune;
using namespace xtune::testing;

TEST_CASE("facts of the device make sense and agree with what is known of its architecture") {
  for_each_gpu([](Gpu& gpu) {
    const DeviceInfo& info = gpu.device->info();
    CHECK_FALSE(info.name.empty());
    CHECK(info.memory_bytes > 0);
    CHECK(info.l2_bytes > 0);
    if (const auto known = known_device(info.arch)) {
      CHECK(info.warp_size == known->warp_size);
      CHECK(info.shared_per_block_optin == known->shared_per_block_optin);
      CHECK(info.shared_per_compute_unit == known->shared_per_compute_unit);
      CHECK(info.registers_per_block == known->registers_per_block);
      CHECK(info.max_threads_per_compute_unit == known->max_threads_per_compute_unit);
    }
  });
}

TEST_CASE("a kernel computes, with scalars and buffers in order") {
  for_each_gpu([](Gpu& gpu) {
    const auto artifact = gpu.compile(
        "extern \"C\" __global__ void k(float* y, const float* x, float a, int n) {\n"
        "  int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] += a * x[i]; }");
    constexpr int n = 100000;
    std::vector<float> x(n), y(n, 1.0F);
    for (int i = 0; i < n; ++i) x[static_cast<std::size_t>(i)] = static_cast<float>(i % 97);
    auto dx = gpu.device->allocate(n * sizeof(float)), dy = gpu.device->allocate(n * sizeof(float));
    dx->write(0, std::as_bytes(std::span(x)));
    dy->write(0, std::as_bytes(std::span(y)));
    CHECK(reinterpret_cast<std::uintptr_t>(dx->address()) % 256 == 0);
    auto program = gpu.device->load(artifact, launch_of((n + 255) / 256, 256));
    const KernelArgument arguments[] = {dy.get(), dx.get(), scalar(2.0F), scalar(n)};
    program->run({arguments, false, 0});
    dy->read(0, std::as_writable_bytes(std::span(y)));
    int wrong = 0;
    for (std::size_t i = 0; i < n; ++i) wrong += y[i] != 1.0F + 2.0F * x[i];
    CHECK(wrong == 0);
    const std::size_t flush_bytes = is_emulated(gpu.device->info()) ? 1 << 20 : 256 << 20;  // without a cache to flush
    const Sample sample = program->run({arguments, true, flush_bytes});
    CHECK(sample.time_ms > 0);
    CHECK(sample.time_ms < 1000);
  });
}

TEST_CASE("dynamic shared memory up to the opt-in limit") {
  for_each_gpu([](Gpu& gpu) {
    const auto artifact = gpu.compile(
        "extern \"C\" __global__ void k(int* out, int last) { extern __shared__ int s[]; s[last] = 41; "
        "__syncthreads();\n"
        "  if (threadIdx.x == 0) *out = s[last] + 1; }");
    const auto most = static_cast<std::uint32_t>(gpu.device->info().shared_per_block_optin);
    auto out = gpu.device->allocate(4);
    auto program = gpu.device->load(artifact, launch_of(1, 32, most));
    const KernelArgument arguments[] = {out.get(), scalar(static_cast<int>(most / 4 - 1))};
    program->run({arguments, false, 0});
    std::int32_t value = 0;
    out->read(0, std::as_writable_bytes(std::span(&value, 1)));
    CHECK(value == 42);
    CHECK(outcome_of([&] { gpu.device->load(artifact, launch_of(1, 32, most + 4)); }) == Outcome::rejected);
  });
}

TEST_CASE("refusals leave the device alive") {
  for_each_gpu([](Gpu& gpu) {
    const auto artifact = gpu.compile("extern \"C\" __global__ void k(int* out) { *out = 7; }");
    CHECK(outcome_of([&] { gpu.device->load(artifact, launch_of(1, 2048)); }) == Outcome::rejected);
    CHECK(outcome_of([&] { gpu.device->load(artifact, launch_of(0, 32)); }) == Outcome::rejected);
    Artifact damaged = artifact;
    damaged.image = "no image at all";
    CHECK(outcome_of([&] { gpu.device->load(damaged, launch_of(1, 32)); }) == Outcome::launch_failed);
    Artifact misnamed = artifact;
    misnamed.entry_symbol = "nosuch";
    CHECK(outcome_of([&] { gpu.device->load(misnamed, launch_of(1, 32)); }) == Outcome::launch_failed);
    auto program = gpu.device->load(artifact, launch_of(1, 32));
    CHECK(outcome_of([&] { program->run({}); }) == Outcome::launch_failed);  // an argument is missing
    CHECK_THROWS_AS(gpu.device->allocate(std::size_t{1} << 46), Error);

    auto out = gpu.device->allocate(4);
    const KernelArgument arguments[] = {out.get()};
    program->run({arguments, true, 0});
    std::int32_t value = 0;
    out->read(0, std::as_writable_bytes(std::span(&value, 1)));
    CHECK(value == 7);
  });
}

TEST_CASE("a graph launches the kernel as often as a stream does, and its time is the kernel's") {
  for_each_gpu([](Gpu& gpu) {
    if (is_emulated(gpu.device->info())) return;  // its times are simulated
    REQUIRE(gpu.device->lack_of_graphs() == "");
    const auto artifact = gpu.compile(
        "extern \"C\" __global__ void k(int* count, long long cycles) {\n"
        "  const long long start = clock64(); while (clock64() - start < cycles) {} ++*count; }");
    auto count = gpu.device->allocate(4);
    auto program = gpu.device->load(artifact, launch_of(1, 1));
    const auto median_ms = [&](long long cycles, std::size_t flush_bytes, int launches, bool graph) {
      const KernelArgument arguments[] = {count.get(), scalar(cycles)};
      const std::vector<std::span<const KernelArgument>> more(static_cast<std::size_t>(launches - 1),
                                                              std::span<const KernelArgument>(arguments));
      RunOptions options{arguments, true, flush_bytes, more};
      options.graph = graph;
      std::int32_t launched = 0;
      count->write(0, std::as_bytes(std::span(&launched, 1)));
      std::vector<double> times;
      for (int i = 0; i < 31; ++i) times.push_back(program->run(options).time_ms);
      count->read(0, std::as_writable_bytes(std::span(&launched, 1)));
      CHECK(launched == 31 * launches);
      return xtune::measure::summarize(times).median;
    };
    for (const std::size_t flush_bytes : {std::size_t{0}, std::size_t{64} << 20}) {
      const int launches = flush_bytes > 0 ? 1 : 20;
      const double stream_ms = median_ms(400'000, flush_bytes, launches, false);
      const double graph_ms = median_ms(400'000, flush_bytes, launches, true);
      const double short_ms = median_ms(4'000, flush_bytes, launches, true);
      CAPTURE(stream_ms);
      CAPTURE(graph_ms);
      CAPTURE(short_ms);
      // Of one launch, without the gaps and the flush: an error would be a factor of the launches, or the flush's time.
      CHECK(graph_ms > stream_ms / 2);
      CHECK(graph_ms < stream_ms * 2);
      CHECK(short_ms < graph_ms / 2);
    }
  });
}

TEST_CASE("all blocks of a cooperative launch meet, on streams and in graphs, and more than are resident are refused") {
  for_each_gpu([](Gpu& gpu) {
    const DeviceInfo& info = gpu.device->info();
    Launch launch = launch_of(static_cast<std::uint32_t>(info.compute_units), 128);
    launch.cooperative = true;
    if (is_emulated(info)) {
      const auto artifact = gpu.compile("extern \"C\" __global__ void k(int*) {}");
      CHECK(outcome_of([&] { gpu.device->load(artifact, launch); }) == Outcome::rejected);
      return;
    }
    // Without a barrier of the grid, blocks would read what others have not written.
    const auto artifact = gpu.compile(R"(
#include <cooperative_groups.h>
extern "C" __global__ void k(int* t, int* x, int n) {
  cooperative_groups::grid_group grid = cooperative_groups::this_grid();
  const int first = blockIdx.x * blockDim.x + threadIdx.x, step = gridDim.x * blockDim.x;
  for (int round = 0; round < 3; ++round) {
    for (int i = first; i < n; i += step) t[i] = x[i] + 1;
    grid.sync();
    for (int i = first; i < n; i += step) x[i] = t[n - 1 - i];
    grid.sync();
  }
})");
    constexpr int n = 100'000;
    const std::vector<int> zeros(n);
    auto t = gpu.device->allocate(4 * n), x = gpu.device->allocate(4 * n);
    const KernelArgument arguments[] = {t.get(), x.get(), scalar(n)};
    const auto program = gpu.device->load(artifact, launch);
    int rounds = 0;
    x->write(0, std::as_bytes(std::span(zeros)));
    for (const bool graph : {false, true}) {
      RunOptions options{arguments, true, 1 << 20};
      options.graph = graph && gpu.device->lack_of_graphs().empty();
      for (int i = 0; i < 3; ++i) {
        CHECK(program->run(options).time_ms > 0);
        rounds += 3;
      }
      std::vector<int> values(n);
      x->read(0, std::as_writable_bytes(std::span(values)));
      CHECK(values == std::vector<int>(n, rounds));
    }
    launch.grid[0] *= 64;  // no multiprocessor has 64 blocks of 128 threads
    CHECK(outcome_of([&] { gpu.device->load(artifact, launch); }) == Outcome::rejected);
  });
}

TEST_CASE("clusters, where the architecture has them") {
  for_each_gpu([](Gpu& gpu) {
    const DeviceInfo& info = gpu.device->info();
    const auto artifact =
        gpu.compile("extern \"C\" __global__ void k(int* out) { if (threadIdx.x == 0) out[blockIdx.x] = 1; }");
    Launch launch = launch_of(4, 32);
    launch.cluster = {2, 1, 1};
    const bool has_clusters = info.vendor == "nvidia" && std::atoi(info.arch.c_str() + 3) >= 90;
    auto out = gpu.device->allocate(16);
    const KernelArgument arguments[] = {out.get()};
    const Outcome outcome = outcome_of([&] { gpu.device->load(artifact, launch)->run({arguments, true, 0}); });
    CHECK(outcome == (has_clusters ? Outcome::ok : Outcome::rejected));
  });
}
