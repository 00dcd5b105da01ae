// Tensor maps in the bench worker: one for each set of buffers, and references that take other arguments.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "bench_fixture.hpp"

using namespace xtune::worker;
using namespace xtune::run;
using namespace xtune::spec;

namespace {

using namespace xtune;
using namespace xtune::fakes;

/// y = 2x, where x is read through the map.
double through_map(const FakeLaunch& call) {
  const auto* x = static_cast<const float*>(call.mapped.at(0));
  for (std::size_t i = 0; i < count; ++i) call.buffer<float>(0)[i] = 2 * x[i];
  return 1.5;
}

measure::TensorMap map_of(std::int64_t box) {
  measure::TensorMap map;
  map.shape = {static_cast<std::int64_t>(count)};
  map.box = {box};
  map.element_strides = {1};
  return map;
}

/// The kernel takes a map of x, and y; x comes last. The reference takes x, y and a scalar.
struct MapBench : Bench {
  MapBench() {
    open.arguments = {{}, buffer("y", ArgRole::out), {}, buffer("x", ArgRole::in)};
    open.arguments[0].map_of = 3;
    open.reference.launch.steps.at(0).arguments = {3, 1, 2};
  }
  BenchJob mapped_job(const std::string& name, std::int64_t box) {
    BenchJob made = this->job(name, through_map);
    made.maps = {map_of(box)};
    return made;
  }
};

}  // namespace

TEST_CASE("A kernel reads its buffer through the configuration's map, and a reference takes the arguments it names") {
  MapBench bench;
  BenchSession session(bench.device, bench.open, bench.clock);
  const BenchAnswer answer = session.bench(bench.mapped_job("mapped", 8));
  CHECK(answer.outcome == Outcome::ok);
  CHECK(bench.reference_runs == 1);
  REQUIRE_FALSE(bench.device.encoded.empty());
  const auto is_right = [](const measure::TensorMap& map) { return map == map_of(8); };
  CHECK(std::all_of(bench.device.encoded.begin(), bench.device.encoded.end(), is_right));
}

TEST_CASE("Each set of buffers has its own map") {
  MapBench bench;
  bench.open.measure.flush = Flush::rotate;
  BenchSession session(bench.device, bench.open, bench.clock);
  CHECK(session.bench(bench.mapped_job("mapped", 8)).outcome == Outcome::ok);
  std::set<std::pair<const void*, void*>> launches;  // what is mapped, and y
  for (const FakeLaunch& launch : bench.device.launches)
    if (!launch.mapped.empty()) launches.emplace(launch.mapped.at(0), launch.buffers.at(0)->address());
  std::set<const void*> mapped;
  for (const auto& [x, y] : launches) mapped.insert(x);
  CHECK(mapped.size() > 1);
  CHECK(mapped.size() == launches.size());
}

TEST_CASE("A kernel that reads a buffer only through its map is not passed the buffer") {
  MapBench bench;
  BenchJob job = bench.mapped_job("mapped", 8);
  job.launch.steps.at(0).arguments = {1, 0};
  BenchSession session(bench.device, bench.open, bench.clock);
  CHECK(session.bench(job).outcome == Outcome::ok);
  for (const FakeLaunch& launch : bench.device.launches) {
    CHECK(launch.buffers.size() == (launch.mapped.empty() ? 2 : 1));
    CHECK(launch.scalars.size() == (launch.mapped.empty() ? 1 : 0));
  }
}

TEST_CASE("A map that only the reference takes is encoded for the reference only") {
  MapBench bench;
  BenchJob job = bench.job("plain", [](const FakeLaunch& call) {
    const auto* x = call.buffer<float>(1);
    for (std::size_t i = 0; i < count; ++i) call.buffer<float>(0)[i] = 2 * x[i];
    return 1.5;
  });
  job.launch.steps.at(0).arguments = {1, 3};
  bench.open.reference.launch.steps.at(0).arguments = {0, 1};
  bench.open.reference.maps = {map_of(4)};
  bench.device.kernels[bench.open.reference.artifact.key] = through_map;
  BenchSession session(bench.device, bench.open, bench.clock);
  CHECK(session.bench(job).outcome == Outcome::ok);
  CHECK(bench.device.encoded == std::vector{map_of(4)});
}

TEST_CASE("Rounds use the maps of each configuration") {
  MapBench bench;
  BenchSession session(bench.device, bench.open, bench.clock);
  const RoundsAnswer answer =
      session.measure_rounds({{bench.mapped_job("a", 4), bench.mapped_job("b", 16)}, {{0, 1}, {1, 0}}});
  CHECK(answer.outcome == Outcome::ok);
  const auto uses = [&](std::int64_t box) {
    return std::find(bench.device.encoded.begin(), bench.device.encoded.end(), map_of(box)) !=
           bench.device.encoded.end();
  };
  CHECK(uses(4));
  CHECK(uses(16));
}

TEST_CASE("A map of a scratch buffer describes that of the configuration") {
  MapBench bench;
  bench.open.arguments = {buffer("x", ArgRole::in), buffer("y", ArgRole::out), {{}, true}, {}, {}};
  bench.open.arguments[4].map_of = 2;
  bench.open.reference.launch.steps.at(0).arguments = {0, 1, 3};
  bool same = false;
  BenchJob job = bench.job("right", [&](const FakeLaunch& call) {
    same = call.mapped.at(0) == call.buffers.at(2)->address();
    return doubling(call);
  });
  validate::ArgumentLayout scratch;
  scratch.name = "work";
  scratch.role = ArgRole::scratch;
  scratch.shape = {count};
  job.scratch = bench.open.reference.scratch = {scratch};
  job.maps = {map_of(8)};
  BenchSession session(bench.device, bench.open, bench.clock);
  CHECK(session.bench(job).outcome == Outcome::ok);
  CHECK(same);
}

TEST_CASE("A device without tensor maps rejects the configuration, and leaves the reference alone") {
  MapBench bench;
  bench.device.has_tensor_maps = false;
  bench.device.device_info.name = "Old GPU";
  BenchSession session(bench.device, bench.open, bench.clock);
  const BenchAnswer answer = session.bench(bench.mapped_job("mapped", 8));
  CHECK(answer.outcome == Outcome::rejected);
  CHECK(answer.message == "Old GPU has no tensor maps");
  CHECK(bench.reference_runs == 1);
}
