// How long a store of 100,000 records takes to load for dispatch, and how long a lookup takes then.
//
//   cmake -B build/bench -DCMAKE_BUILD_TYPE=Release && cmake --build build/bench --target bench_store
//   build/bench/benchmarks/bench_store
//
// Loads are reported in ms with the share of the limit (300 ms), lookups in ns (limit: 1,000 ns). A problem's first
// lookup ranks its configurations, which is timed separately. The store is created in the temporary directory for each
// run; its records are as large as those of a run on a GPU, about 2.5 KB. Configure with -DCMAKE_BUILD_TYPE=Release:
// figures of benchmarks/RESULTS.md.
#include "core/store/store_view.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "base/hash.hpp"
#include "base/random.hpp"
#include "core/store/record.hpp"
#include "core/store/record_check.hpp"
#include "core/store/record_log.hpp"
#include "system/files.hpp"

using namespace xtune::base;
using namespace xtune::system;
using namespace xtune::device;
using namespace xtune::measure;
using namespace xtune::store;

namespace {

using namespace xtune;

constexpr std::int64_t all_records = 100'000;

DeviceInfo device_of(const std::string& arch) {
  DeviceInfo device;
  device.backend = "cuda", device.vendor = "nvidia", device.arch = arch, device.name = "NVIDIA " + arch;
  device.uuid = "GPU-0e4e3083-5b99-ae39-0000-000000000000", device.driver = "13.0 (580.65)";
  device.warp_size = 32, device.compute_units = 132, device.shared_per_block = 49152;
  device.shared_per_block_optin = 232448, device.registers_per_block = 65536, device.max_threads_per_block = 1024;
  device.max_grid_x = 2147483647, device.max_grid_y = 65535, device.max_grid_z = 65535;
  device.l2_bytes = 62914560, device.memory_bytes = 150'000'000'000, device.clock_khz = 1980000;
  return device;
}

Bindings problem_of(std::int64_t i) {
  return {{"M", 64 + i % 61 * 64}, {"N", 64 + i / 61 % 59 * 128}, {"K", 64 + i / 3599 * 32}};
}

/// The common members of all records, with placeholders for the others.
nlohmann::json common_part(const std::string& arch, Random& random) {
  Record record;
  record.kernel = "gemm";
  record.key_parts = {{"artifact", sha256("artifact")},
                      {"runtime", "[\"RASTER=4\"]"},
                      {"scalars", "[\"alpha=1.0\",\"beta=0.0\"]"},
                      {"launch", "grid 64x64x1 block 256x1x1 cluster 0x0x0 shared 98304"},
                      {"problem", "[\"K=4096\",\"M=4096\",\"N=4096\"]"},
                      {"buffers", "[\"in f16 4096x4096 auto\",\"in f16 4096x4096 auto\",\"out f16 4096x4096 auto\"]"},
                      {"seed", "1"},
                      {"reference", "gemm_naive " + sha256("reference")},
                      {"tolerance", "rtol 0.01 atol 0.01 ratio 0.01 outliers 20"},
                      {"protocol", "1: warmup 3 rep 7..50 time_ms 0..200 noise 0.005 timeout_s 30 flush l2"},
                      {"driver", "\"13.0 (580.65)\""},
                      {"device", "[\"cuda\",\"nvidia\",\"" + arch + "\",\"NVIDIA\",\"132\"]"}};
  record.stage = "measure";
  for (int sample = 0; sample < 40; ++sample) record.samples_ms.push_back(0.5 + 0.01 * random.uniform());
  record.time_ms = summarize(record.samples_ms);
  record.usage.registers = 128, record.usage.spilled_bytes = 0, record.usage.static_shared_bytes = 0;
  record.telemetry.clock_mhz = 1980, record.telemetry.power_w = 512.25, record.telemetry.temperature_c = 61;
  record.device = device_of(arch);
  record.toolchain = "nvrtc 13.0";
  record.host = "node17", record.attempt = "c86c41804c8612fe";
  record.bench_s = 0.631127, record.compile_s = 0.82;
  return to_json(record);
}

void write_records(const std::filesystem::path& path, const std::string& arch, std::int64_t first, std::int64_t count,
                   std::int64_t problems) {
  Random random(static_cast<std::uint64_t>(first));
  nlohmann::json json = common_part(arch, random);
  std::filesystem::create_directories(path.parent_path());
  std::ofstream file(path, std::ios::binary);
  file << "{\"xtune_records\":1}\n";
  for (std::int64_t i = first; i < first + count; ++i) {
    const std::int64_t of_problem = i / problems;
    json["problem"] = to_json(problem_of(i % problems));
    json["config"] = {{"BLOCK_K", of_problem % 4 * 16}, {"BLOCK_M", of_problem % 8 * 32},
                      {"BLOCK_N", of_problem % 5 * 32}, {"LAYOUT", of_problem % 2 ? "row" : "col"},
                      {"RASTER", of_problem % 3 * 4},   {"SPLIT_K", of_problem % 7},
                      {"STAGES", 2 + of_problem % 4},   {"SWIZZLE", of_problem % 2 == 0}};
    json["key"] = sha256(std::to_string(i) + arch);
    json["artifact_key"] = sha256(std::to_string(i / 3));
    json["unix_time_ms"] = 1'795'274'410'964 + i;
    for (const char* name : {"min", "median", "mean", "low", "high"}) json["time_ms"][name] = 0.5 + random.uniform();
    json.erase("finals");
    if (of_problem < 6) json["finals"] = "finals-" + std::to_string(i % problems);
    file << with_checksum(json.dump()) << '\n';
  }
}

/// Stores by how many problems they are of; `archs` architectures, the records shared out evenly, in ten files each.
const std::filesystem::path& store_of(std::int64_t problems, std::int64_t archs) {
  static std::map<std::pair<std::int64_t, std::int64_t>, TemporaryDirectory> stores;
  const auto [place, is_new] = stores.try_emplace({problems, archs});
  const std::filesystem::path& store = place->second.path();
  const std::int64_t count = all_records / archs / 10;
  for (std::int64_t i = 0; is_new && i < archs * 10; ++i) {
    const std::string arch = "sm_" + std::to_string(90 + i / 10);
    write_records(store / "records" / arch / "gemm" / ("node-" + std::to_string(i % 10) + ".jsonl"), arch,
                  i % 10 * count, count, problems);
  }
  return store;
}

void load(benchmark::State& state) {
  const std::filesystem::path& store = store_of(state.range(0), state.range(1));
  std::uint64_t records = 0, bytes = 0;
  for (const auto& file : std::filesystem::recursive_directory_iterator(store))
    if (file.is_regular_file()) bytes += file.file_size();
  for (auto _ : state) {
    records = 0;
    for (std::int64_t arch = 0; arch < state.range(1); ++arch)
      records += StoreView::load(store, "sm_" + std::to_string(90 + arch), "gemm").records();
  }
  state.counters["records"] = static_cast<double>(records);
  state.counters["MB"] = static_cast<double>(bytes) / 1e6;
  // Seconds an iteration, over 0.3.
  state.counters["of_limit"] =
      benchmark::Counter(0.3, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}
BENCHMARK(load)
    ->ArgNames({"problems", "archs"})
    ->Args({1, 1})
    ->Args({100, 1})
    ->Args({10'000, 1})
    ->Args({100'000, 1})
    ->Args({100, 4})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

std::vector<Bindings> problems_to_ask(std::int64_t problems, std::int64_t aside) {
  std::vector<Bindings> asked;
  Random random(2);
  for (int i = 0; i < 1000; ++i) {
    asked.push_back(problem_of(static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(problems)))));
    for (auto& [name, size] : asked.back()) std::get<std::int64_t>(size) += aside;
  }
  return asked;
}

// As a dispatch asks.
const LookupRules late = [] {
  LookupRules rules;
  rules.count_obstacles = false;
  return rules;
}();

// Of problems that were asked for before.
void find(benchmark::State& state, std::int64_t aside, const RowOptions& options) {
  const StoreView view = StoreView::load(store_of(state.range(0), 1), "sm_90", "gemm", options);
  const DeviceInfo device = device_of("sm_90");
  const std::vector<Bindings> asked = problems_to_ask(state.range(0), aside);
  for (const Bindings& problem : asked) view.look_up(problem, device, late);
  std::size_t next = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(view.look_up(asked[next], device, late));
    next = next + 1 == asked.size() ? 0 : next + 1;
  }
}
BENCHMARK_CAPTURE(find, exact, 0, {})->ArgName("problems")->Arg(1)->Arg(100)->Arg(10'000)->Arg(100'000);
BENCHMARK_CAPTURE(find, nearest, 3, {})->ArgName("problems")->Arg(1)->Arg(100)->Arg(10'000)->Arg(100'000);

// For problems without an earlier lookup: their configurations are ranked. The time is that of each lookup.
void first_find(benchmark::State& state) {
  const std::int64_t problems = state.range(0);
  const DeviceInfo device = device_of("sm_90");
  for (auto _ : state) {
    const StoreView view = StoreView::load(store_of(problems, 1), "sm_90", "gemm");
    const std::int64_t asked = std::min<std::int64_t>(problems, 1000);
    const auto start = std::chrono::steady_clock::now();
    for (std::int64_t i = 0; i < asked; ++i) benchmark::DoNotOptimize(view.look_up(problem_of(i), device, late));
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    state.SetIterationTime(took.count() / static_cast<double>(asked));
  }
}
BENCHMARK(first_find)
    ->ArgName("problems")
    ->Arg(1)
    ->Arg(100)
    ->Arg(10'000)
    ->Arg(100'000)
    ->Unit(benchmark::kMicrosecond)
    ->UseManualTime()
    ->Iterations(3);

void whole_records(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(read_records(store_of(100, 1), "sm_90", "gemm").records.size());
}
BENCHMARK(whole_records)->Unit(benchmark::kMillisecond)->UseRealTime()->Iterations(1);

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
