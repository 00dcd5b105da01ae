// Thread block clusters: blocks that run at the same time, with barriers, each other's shared memory and multicast.
#include <doctest/doctest.h>

#include <numeric>

#include "hopper_kernels.hpp"
#include "support/text.hpp"

using namespace xtune;
using namespace xtune::test;

TEST_CASE("each block has its rank, and reads and writes the shared memory of the others") {
  const HopperKernel kernel(R"(
extern "C" __global__ void k(float* out) {
  __shared__ float own[64], given[2];
  extern __shared__ float dynamic[];
  const unsigned rank = cluster_rank(), size = cluster_size();
  own[threadIdx.x] = blockIdx.x * 100 + threadIdx.x;
  dynamic[threadIdx.x] = -own[threadIdx.x];
  cluster_sync();
  const unsigned next = (rank + 1) % size;
  const unsigned there = remote_address(own, next), more = remote_address(dynamic + 32, next);
  float* line = out + blockIdx.x * 132;
  line[threadIdx.x] = load_remote(there + 4 * (63 - threadIdx.x));
  line[64 + threadIdx.x] = load_remote(more + 4 * (threadIdx.x % 32));
  if (threadIdx.x < 2) store_remote(remote_address(&given[threadIdx.x], next), 1000 * rank + threadIdx.x);
  cluster_sync();
  if (threadIdx.x < 2) line[128 + threadIdx.x] = given[threadIdx.x];
  if (threadIdx.x == 0) line[130] = rank, line[131] = size;
})");
  for (const std::uint32_t cluster : {1u, 2u, 3u, 16u}) {
    CAPTURE(cluster);
    const std::uint32_t grid = cluster * 2;
    std::vector<float> out(grid * 132), expected;
    kernel.run(launch_of(grid, 64, 512, cluster), out.data());
    for (std::uint32_t block = 0; block < grid; ++block) {
      const std::uint32_t rank = block % cluster, first = block - rank, next = first + (rank + 1) % cluster,
                          before = (rank + cluster - 1) % cluster;
      for (unsigned t = 0; t < 64; ++t) expected.push_back(static_cast<float>(next * 100 + 63 - t));
      for (unsigned t = 0; t < 64; ++t) expected.push_back(-static_cast<float>(next * 100 + 32 + t % 32));
      for (unsigned t = 0; t < 2; ++t) expected.push_back(static_cast<float>(1000 * before + t));
      expected.push_back(static_cast<float>(rank));
      expected.push_back(static_cast<float>(cluster));
    }
    CHECK(out == expected);
  }
}

TEST_CASE("clusters of three dimensions cover the grid, x first") {
  const HopperKernel kernel(R"(
extern "C" __global__ void k(int* out) {
  __shared__ float id;
  id = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  cluster_sync();
  const int block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  out[2 * block] = cluster_rank();
  out[2 * block + 1] = load_remote(remote_address(&id, 0));
  cluster_sync();
})");
  device::Launch launch;
  launch.grid = {4, 6, 2};
  launch.block = {1, 1, 1};
  launch.cluster = {2, 3, 1};
  std::vector<int> out(96), expected;
  kernel.run(launch, out.data());
  for (int z = 0; z < 2; ++z)
    for (int y = 0; y < 6; ++y)
      for (int x = 0; x < 4; ++x) {
        expected.push_back(y % 3 * 2 + x % 2);
        expected.push_back((z * 6 + y / 3 * 3) * 4 + x / 2 * 2);
      }
  CHECK(out == expected);
}

namespace {

/// Each block of a pair loads half of a tile of 16 x 32 for both, and signals that it has used its tile.
std::string multicast_kernel(const std::string& sync, const std::string& wait, const std::string& arrivals) {
  return R"(
extern "C" __global__ void k(const __grid_constant__ TensorMap map, int* out, int steps) {
  __shared__ __align__(1024) int tile[512];
  __shared__ Barrier full, empty;
  const unsigned rank = cluster_rank();
  if (threadIdx.x == 0) { init(full, 1); init(empty, )" +
         arrivals + R"(); fence_init(); }
  for (int i = threadIdx.x; i < 512; i += 32) tile[i] = 0;
  )" + sync +
         R"(
  long long sum = 0;
  for (int step = 0; step < steps; ++step) {
    if (threadIdx.x == 0) {
      if (step > 0) wait_cluster(empty, (step - 1) % 2);
      arrive_expect(full, 2048);
      load_tile_multicast(tile + 256 * rank, map, full, 0, 16 * step + 8 * rank, 3);
    }
    __syncwarp();
    )" + wait +
         R"(
    for (int i = threadIdx.x; i < 512; i += 32) sum += (long long)(step + 1) * tile[i];
    if (threadIdx.x < 2) { arrive_remote(empty, threadIdx.x); }
  }
  cluster_sync();
  out[blockIdx.x * 32 + threadIdx.x] = sum;
})";
}

}  // namespace

TEST_CASE("a multicast tile reaches every block of the cluster, with its bytes and arrivals") {
  const int steps = 5;
  std::vector<int> from(16 * 32 * steps);
  std::iota(from.begin(), from.end(), 1);
  const auto map = map_of(from, {16 * steps, 32}, {8, 32}, 128);
  std::vector<int> out(6 * 32), expected(6 * 32);
  const auto at = [](int row, int column) { return (row % 8 * 128 + ((column * 4) ^ (row % 8 << 4))) / 4 % 32; };
  for (int step = 0; step < steps; ++step)
    for (int row = 0; row < 16; ++row)
      for (int column = 0; column < 32; ++column)
        for (int block = 0; block < 6; ++block)
          expected[static_cast<std::size_t>(block * 32 + at(row, column))] +=
              (step + 1) * from[static_cast<std::size_t>((step * 16 + row) * 32 + column)];
  const char* const wait = "wait(full, step % 2);";
  const auto launch = launch_of(6, 32, 0, 2);
  const HopperKernel kernel(multicast_kernel("cluster_sync();", wait, "2"));
  for (int repeat = 0; repeat < 3; ++repeat) {
    out.assign(out.size(), 0);
    kernel.run(launch, map, out.data(), steps);
    CHECK(out == expected);
  }

  // What is missing is found.
  std::string text =
      HopperKernel(multicast_kernel("__syncthreads();", wait, "2")).failure(launch, map, out.data(), steps);
  CHECK_MESSAGE(has(text, "all must pass cluster_sync() before its shared memory is used"), text);
  out.assign(out.size(), 0);
  text = HopperKernel(multicast_kernel("cluster_sync();", "", "2")).failure(launch, map, out.data(), steps);
  CHECK((!text.empty() || out != expected));
  text = HopperKernel(multicast_kernel("cluster_sync();", wait, "3"))
             .failure(launch_of(2, 32, 0, 2), map, out.data(), steps);
  CHECK_MESSAGE(has(text, "the kernel does not end: block (0, 0, 0): of 32 threads"), text);
  CHECK_MESSAGE(has(text, "; block (1, 0, 0): of 32 threads"), text);
  CHECK_MESSAGE(has(text,
                    "1 wait for the phase of parity 0 of a barrier in shared memory (phase 0, parity 0: 1 of 3 "
                    "arrivals are missing"),
                text);
}

TEST_CASE("a cluster that cannot go on is a deadlock, and the device goes on") {
  std::vector<int> out(64);
  std::string text = HopperKernel(
                         "extern \"C\" __global__ void k(int*) { if (cluster_rank() == 1 || threadIdx.x < 7) "
                         "cluster_sync(); else __syncthreads(); }")
                         .failure(launch_of(2, 32, 0, 2), out.data());
  CHECK_MESSAGE(has(text, "at cluster_wait(), where 39 of the cluster's 64 threads have arrived"), text);
  text = HopperKernel("extern \"C\" __global__ void k(int*) { cluster_wait(); }")
             .failure(launch_of(2, 32, 0, 2), out.data());
  CHECK_MESSAGE(has(text, "cluster_wait() is called without cluster_arrive()"), text);
  text = HopperKernel("extern \"C\" __global__ void k(int*) { cluster_arrive(); cluster_arrive(); }")
             .failure(launch_of(2, 32, 0, 2), out.data());
  CHECK_MESSAGE(has(text, "cluster_arrive() is called twice"), text);
  text = HopperKernel(
             "extern \"C\" __global__ void k(int*) { __shared__ float s; s = 1; cluster_sync(); "
             "load_remote(remote_address(&s, 1 - cluster_rank())); }")
             .failure(launch_of(2, 32, 0, 2), out.data());
  CHECK_MESSAGE(has(text, "is used after that block has ended"), text);
  text = HopperKernel(
             "extern \"C\" __global__ void k(int*) { __shared__ float s; s = 1; cluster_sync(); "
             "load_remote(remote_address(&s, 2)); }")
             .failure(launch_of(2, 32, 0, 2), out.data());
  CHECK_MESSAGE(has(text, "rank 2 in a cluster of 2 blocks, whose ranks are 0 to 1"), text);
  // Threads that have ended are not waited for.
  const HopperKernel fine(
      "extern \"C\" __global__ void k(int* out) { if (threadIdx.x >= 16 + cluster_rank()) return; cluster_sync(); "
      "out[blockIdx.x * 32 + threadIdx.x] = 1; }");
  fine.run(launch_of(2, 32, 0, 2), out.data());
  CHECK(std::accumulate(out.begin(), out.end(), 0) == 33);
}

TEST_CASE("a block may wait in a loop for what another block of its cluster writes") {
  const HopperKernel kernel(R"(
extern "C" __global__ void k(int* out, volatile int* flag) {
  __shared__ float s;
  cluster_sync();
  if (cluster_rank() == 0) {
    flag[0] = 1;
    while (flag[1] == 0) __nanosleep(20);
    out[threadIdx.x] = s;
  } else {
    while (flag[0] == 0) __nanosleep(20);
    store_remote(remote_address(&s, 0), 5);
    __syncthreads();
    flag[1] = 1;
    cluster_arrive();
    while (flag[2] == 0) __nanosleep(20);
    cluster_wait();
    return;
  }
  cluster_arrive();
  flag[2] = 1;
  cluster_wait();
})");
  std::vector<int> out(32);
  std::vector<int> flags(3);
  kernel.run(launch_of(2, 32, 0, 2), out.data(), flags.data());
  CHECK(out == std::vector<int>(32, 5));
}

TEST_CASE("clusters that are not allowed are refused") {
  const HopperKernel kernel("extern \"C\" __global__ void k(int* out) { cluster_sync(); }");
  std::vector<int> out(1);
  CHECK(has(kernel.failure(launch_of(32, 32, 0, 32), out.data()), "a cluster of 32 blocks: at most 16 are allowed"));
  CHECK(has(kernel.failure(launch_of(5, 32, 0, 2), out.data()),
            "a grid of 5 blocks is not a multiple of the cluster's 2"));
}
