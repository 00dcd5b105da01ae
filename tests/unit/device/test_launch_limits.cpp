// Every limit of a launch, at it and one beyond.
#include <doctest/doctest.h>

#include "core/device/launch.hpp"

using namespace xtune::device;

using namespace xtune;

namespace {

DeviceInfo h100() { return known_device("sm_90").value(); }

Launch launch_of(std::uint32_t grid, std::uint32_t block, std::uint32_t shared = 0) {
  Launch launch;
  launch.grid = {grid, 1, 1};
  launch.block = {block, 1, 1};
  launch.shared_bytes = shared;
  return launch;
}

}  // namespace

TEST_CASE("threads") {
  CHECK_FALSE(forbidden(launch_of(1, 1024), {}, h100()));
  Launch launch;
  launch.block = {32, 32, 1};
  CHECK_FALSE(forbidden(launch, {}, h100()));
  launch.block = {32, 33, 1};
  CHECK(forbidden(launch, {}, h100()) == "block of 1056 threads exceeds device.max_threads_per_block = 1024");
  launch.block = {1, 1, 65};
  CHECK(forbidden(launch, {}, h100()) == "block.z = 65 exceeds device.max_block_z = 64");
  launch.block = {4294967295U, 4294967295U, 4294967295U};
  CHECK(forbidden(launch, {}, h100()));
  launch.block = {0, 1, 1};
  CHECK(forbidden(launch, {}, h100()) == "block.x is 0");
  KernelNeeds bounded;
  bounded.max_threads_per_block = 256;
  CHECK_FALSE(forbidden(launch_of(1, 256), bounded, h100()));
  CHECK(forbidden(launch_of(1, 257), bounded, h100()));
}

TEST_CASE("grid") {
  CHECK_FALSE(forbidden(launch_of(2147483647, 1), {}, h100()));
  CHECK(forbidden(launch_of(2147483648U, 1), {}, h100()));
  Launch launch;
  launch.grid = {1, 65536, 1};
  CHECK(forbidden(launch, {}, h100()) == "grid.y = 65536 exceeds device.max_grid_y = 65535");
  launch.grid = {1, 1, 0};
  CHECK(forbidden(launch, {}, h100()) == "grid.z is 0");
}

TEST_CASE("AMD counts the threads of a dimension") {
  const DeviceInfo mi250x = known_device("gfx90a").value();
  CHECK_FALSE(forbidden(launch_of(16777215, 256), {}, mi250x));
  CHECK(forbidden(launch_of(16777216, 256), {}, mi250x));
  CHECK_FALSE(forbidden(launch_of(16777216, 256), {}, h100()));
}

TEST_CASE("shared memory") {
  KernelNeeds kernel;
  kernel.static_shared_bytes = 1024;
  CHECK_FALSE(forbidden(launch_of(1, 32, 232448 - 1024), kernel, h100()));
  CHECK(forbidden(launch_of(1, 32, 232448 - 1023), kernel, h100()) ==
        "232449 bytes of shared memory (1024 static + 231425 dynamic) exceed device.shared_per_block_optin = 232448");
  CHECK(forbidden(launch_of(1, 32, 4294967295U), kernel, h100()));
}

TEST_CASE("registers, as they are given out: per warp, in units of 256") {
  CHECK(registers_of_block(32, 33, 32) == 1280);
  CHECK(registers_of_block(33, 32, 32) == 2048);
  KernelNeeds kernel;
  kernel.registers = 64;
  CHECK_FALSE(forbidden(launch_of(1, 1024), kernel, h100()));
  kernel.registers = 65;
  CHECK(forbidden(launch_of(1, 1024), kernel, h100()));
  CHECK_FALSE(forbidden(launch_of(1, 896), kernel, h100()));
  kernel.registers = 255;
  CHECK_FALSE(forbidden(launch_of(1, 256), kernel, h100()));
  CHECK(forbidden(launch_of(1, 257), kernel, h100()));
  CHECK_FALSE(forbidden(launch_of(1, 1024), kernel, known_device("gfx90a").value()));
}

TEST_CASE("clusters divide the grid") {
  Launch launch = launch_of(8, 32);
  launch.cluster = {4, 1, 1};
  CHECK_FALSE(forbidden(launch, {}, h100()));
  launch.cluster = {3, 1, 1};
  CHECK(forbidden(launch, {}, h100()) == "grid.x = 8 is not a multiple of cluster.x = 3");
  launch.cluster = {4, 0, 1};
  CHECK(forbidden(launch, {}, h100()) == "cluster.y is 0");
  launch.grid = {32, 1, 1};
  launch.cluster = {16, 1, 1};
  CHECK_FALSE(forbidden(launch, {}, h100()));
  launch.cluster = {32, 1, 1};
  CHECK(forbidden(launch, {}, h100()) == "cluster of 32 blocks exceeds the 16 of sm_90");
}

TEST_CASE("the largest cluster is a fact of the device") {
  CHECK(max_cluster_blocks(h100()) == 16);
  CHECK(device_facts(h100()).at("device.max_cluster_blocks") == Value(16));
  CHECK(max_cluster_blocks(known_device("sm_89").value()) == 0);
  CHECK(max_cluster_blocks(known_device("gfx942").value()) == 0);
}

TEST_CASE("clusters need an architecture that has them") {
  Launch launch = launch_of(8, 32);
  launch.cluster = {2, 1, 1};
  for (const char* arch : {"sm_80", "gfx90a"}) {
    CAPTURE(arch);
    CHECK(forbidden(launch, {}, known_device(arch).value()) ==
          std::string("cluster: ") + arch + " has no block clusters, they need sm_90 or newer");
  }
}

TEST_CASE("a cooperative launch has no more blocks than are resident, as far as limits of a compute unit tell") {
  const DeviceInfo device = h100();
  const auto units = static_cast<std::uint32_t>(device.compute_units);
  Launch launch = launch_of(2 * units, 1024);
  launch.cooperative = true;
  CHECK_FALSE(forbidden(launch, {}, device));
  launch.grid[0] += 1;
  const std::string limit = " that are resident at once (at most 2 for each of device.compute_units = ";
  CHECK(forbidden(launch, {}, device) == "a cooperative launch of " + std::to_string(2 * units + 1) +
                                             " blocks exceeds the " + std::to_string(2 * units) + limit +
                                             std::to_string(units) + ")");
  KernelNeeds kernel;
  kernel.registers = 64;  // 65,536 of a block
  launch.grid[0] = units + 1;
  CHECK_FALSE(forbidden(launch, {}, device));
  CHECK(forbidden(launch, kernel, device)->find("at most 1 for each") != std::string::npos);
  launch.shared_bytes = 120'000;
  CHECK(forbidden(launch, {}, device)->find("at most 1 for each") != std::string::npos);
  launch.cooperative = false;
  CHECK_FALSE(forbidden(launch, kernel, device));
}

TEST_CASE("an unknown limit forbids nothing") {
  DeviceInfo device;
  device.max_threads_per_block = 0, device.max_block_x = 0, device.max_grid_x = 0;
  KernelNeeds kernel;
  kernel.registers = 255;
  CHECK_FALSE(forbidden(launch_of(4294967295U, 4096, 1 << 30), kernel, device));
}
