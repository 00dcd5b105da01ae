// Cooperative launches: blocks that wait for each other, and what is refused.
#include <doctest/doctest.h>

#include <cstring>
#include <string>
#include <vector>

#include "fakes/host_kernels.hpp"

using namespace xtune::backend;
using namespace xtune::build;
using namespace xtune::measure;

using namespace xtune;

namespace {

struct Host : fakes::HostKernels {
  Artifact compile(const std::string& body) const {
    return compile_source("#include <cooperative_groups.h>\nextern \"C\" __global__ void k(int* x, int* t, int n) {\n" +
                          body + "}");
  }
  /// Empty, or the failure.
  std::string run(const Artifact& artifact, std::uint32_t blocks, std::vector<int>& x, bool cooperative = true) const {
    const std::size_t bytes = x.size() * sizeof(int);
    const auto from = device->allocate(bytes), to = device->allocate(bytes);
    from->write(0, std::as_bytes(std::span(x)));
    const int count = static_cast<int>(x.size());
    const std::span<const std::byte> count_bytes = std::as_bytes(std::span(&count, 1));
    const ScalarArgument n{{count_bytes.begin(), count_bytes.end()}};
    const std::vector<KernelArgument> arguments = {from.get(), to.get(), n};
    device::Launch launch{{blocks, 1, 1}, {64, 1, 1}};
    launch.cooperative = cooperative;
    try {
      const auto program = device->load(artifact, launch);
      for (int i = 0; i < 3; ++i) program->run({arguments, true, 0});
    } catch (const CandidateFailure& failure) {
      return failure.what();
    }
    from->read(0, std::as_writable_bytes(std::span(x)));
    return {};
  }
};

}  // namespace

TEST_CASE("all blocks of a cooperative launch wait for each other at grid.sync()") {
  const Host host;
  const Artifact mirror = host.compile(R"(
  const auto grid = cooperative_groups::this_grid();
  const int first = static_cast<int>(grid.thread_rank()), step = static_cast<int>(grid.size());
  for (int round = 0; round < 20; ++round) {
    for (int i = first; i < n; i += step) t[i] = x[i] + 1;
    grid.sync();
    for (int i = first; i < n; i += step) x[i] = t[n - 1 - i];
    cooperative_groups::sync(grid);
  }
)");
  for (const int blocks : {1, 8}) {
    CAPTURE(blocks);
    std::vector<int> x(1000);
    CHECK(host.run(mirror, static_cast<std::uint32_t>(blocks), x) == "");
    CHECK(x == std::vector<int>(1000, 60));
  }
  std::vector<int> x(10);
  const auto units = static_cast<std::uint32_t>(host.device->info().compute_units);
  CHECK(host.run(mirror, 17 * units, x) ==
        "a cooperative launch of " + std::to_string(17 * units) + " blocks exceeds the " + std::to_string(16 * units) +
            " that are resident at once (at most 16 for each of device.compute_units = " + std::to_string(units) + ")");
  CHECK(host.run(mirror, 2, x, false).ends_with("grid.sync() needs a cooperative launch: [launch] cooperative = true"));
}

TEST_CASE("a block that ends without the barrier of the others is found, and the device goes on") {
  const Host host;
  const Artifact leaves =
      host.compile("if (blockIdx.x != 1) cooperative_groups::this_grid().sync(); x[blockIdx.x] = 7;");
  std::vector<int> x(4);
  CHECK(host.run(leaves, 4, x).ends_with("it waits at grid.sync() for a block that has ended"));
  CHECK(host.run(leaves, 2, x).ends_with("it waits at grid.sync() for a block that has ended"));
  const Artifact meets = host.compile("cooperative_groups::this_grid().sync(); x[blockIdx.x] = 7;");
  CHECK(host.run(meets, 4, x) == "");
  CHECK(x == std::vector<int>(4, 7));
}
