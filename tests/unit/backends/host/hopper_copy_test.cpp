// Copies of tiles by tensor maps, barriers in shared memory, and what kernels do wrong with them.
#include <doctest/doctest.h>

#include <cstdint>
#include <numeric>
#include <regex>

#include "backends/host/block/block_runner.hpp"
#include "hopper_kernels.hpp"
#include "support/text.hpp"
#include "system/files.hpp"

using namespace xtune;
using namespace xtune::test;

namespace {

std::vector<int> counted(std::size_t n) {
  std::vector<int> values(n);
  std::iota(values.begin(), values.end(), 1);
  return values;
}

/// Loads a tile and copies its shared memory to out; parts of the text are replaced.
std::string load_kernel(const std::string& bytes, const std::string& wait, const std::string& load) {
  return R"(
extern "C" __global__ void k(const __grid_constant__ TensorMap map, int* out, int x, int y) {
  extern __shared__ __align__(1024) int tile[];
  __shared__ Barrier barrier;
  if (threadIdx.x == 0) { init(barrier, 1); fence_init(); }
  for (int i = threadIdx.x; i < 512; i += blockDim.x) tile[i] = -1;
  fence_async();
  __syncthreads();
  if (threadIdx.x == 0) { arrive_expect(barrier, )" +
         bytes + "); " + load + " }\n  " + wait +
         "\n  for (int i = threadIdx.x; i < 512; i += blockDim.x) out[blockIdx.x * 512 + i] = tile[i];\n}\n";
}
const char* const plain_load = "load_tile(tile, map, barrier, x, y);";
const char* const plain_wait = "wait(barrier, 0);";

/// What the first 16 x 32 tile of a 40 x 50 array at (x, y) is in shared memory.
std::vector<int> expected_tile(int x, int y, unsigned swizzle) {
  std::vector<int> tile(512, 0);
  for (int row = 0; row < 16; ++row)
    for (int column = 0; column < 32; ++column) {
      const bool inside = x + column >= 0 && x + column < 52 && y + row >= 0 && y + row < 40;
      std::size_t at = static_cast<std::size_t>(row) * 128 + static_cast<std::size_t>(column) * 4;
      // As PTX describes the pattern of 128 bytes: bits 4 to 6 by xor with bits 7 to 9.
      if (swizzle == 128) at ^= (at >> 7 & 7) << 4;
      tile[at / 4] = inside ? (y + row) * 52 + x + column + 1 : 0;
    }
  return tile;
}

}  // namespace

TEST_CASE("each function of <xtune/hopper.cuh> has a body on the host") {
  const std::string header = system::read_file(XTUNE_SOURCE_DIR "/runtime/xtune/hopper.cuh");
  const std::string bodies = system::read_file(XTUNE_SOURCE_DIR "/runtime/host/xtune_host_hopper.h");
  const std::regex declaration(R"(\n__device__ inline [\w ]*[ *&](\w+)\()");
  int functions = 0;
  for (std::sregex_iterator at(header.begin(), header.end(), declaration), end; at != end; ++at) {
    const std::string name = (*at)[1];
    if (name == "shared_address") continue;  // for inline PTX
    ++functions;
    CHECK_MESSAGE(bodies.find(" " + name + "(") != std::string::npos, name);
  }
  CHECK(functions > 40);
}

TEST_CASE("a tile arrives swizzled, with zeros for what is outside, when its barrier is waited for") {
  const HopperKernel kernel(load_kernel("2048", plain_wait, plain_load));
  const std::vector<int> from = counted(40 * 52);
  for (const unsigned swizzle : {0u, 128u})
    for (const auto& [x, y] :
         {std::pair(0, 0), std::pair(8, 5), std::pair(-4, -3), std::pair(40, 30), std::pair(60, 0)}) {
      CAPTURE(swizzle);
      CAPTURE(x);
      std::vector<int> out(3 * 512);
      kernel.run(launch_of(3, 64, 2048), map_of(from, {40, 52}, {16, 32}, swizzle), out.data(), x, y);
      for (std::size_t block = 0; block < 3; ++block)
        CHECK(std::vector<int>(out.begin() + static_cast<std::ptrdiff_t>(512 * block),
                               out.begin() + static_cast<std::ptrdiff_t>(512 * (block + 1))) ==
              expected_tile(x, y, swizzle));
    }
}

TEST_CASE("tiles of three to five dimensions") {
  const HopperKernel kernel(R"(
extern "C" __global__ void k(const __grid_constant__ TensorMap three, const __grid_constant__ TensorMap four, const __grid_constant__ TensorMap five, int* out) {
  __shared__ __align__(128) int tile[3][64];
  __shared__ Barrier barrier;
  if (threadIdx.x == 0) { init(barrier, 1); fence_init(); }
  __syncthreads();
  if (threadIdx.x == 0) {
    arrive_expect(barrier, 3 * 256);
    load_tile(tile[0], three, barrier, 4, 1, 1);
    load_tile(tile[1], four, barrier, 0, 1, 2, -1);
    load_tile(tile[2], five, barrier, 0, 1, 0, 1, 1);
  }
  wait(barrier, 0);
  for (int i = threadIdx.x; i < 192; i += blockDim.x) out[i] = tile[i / 64][i % 64];
})");
  const std::vector<int> from = counted(3 * 4 * 5 * 6 * 8);
  std::vector<int> out(192), expected;
  kernel.run(launch_of(1, 32), map_of(from, {5, 6, 8}, {4, 4, 4}), map_of(from, {4, 5, 6, 8}, {2, 2, 2, 8}),
             map_of(from, {3, 4, 5, 6, 8}, {1, 2, 2, 2, 8}), out.data());
  const auto at = [&](int v, int w, int z, int y, int x) {
    return v < 0 || w < 0 || w > 3 || z > 4 || y > 5 || x > 7 ? 0 : (((v * 4 + w) * 5 + z) * 6 + y) * 8 + x + 1;
  };
  for (int z = 0; z < 4; ++z)
    for (int y = 0; y < 4; ++y)
      for (int x = 0; x < 4; ++x) expected.push_back(at(0, 0, 1 + z, 1 + y, 4 + x));
  for (int w = 0; w < 2; ++w)
    for (int z = 0; z < 2; ++z)
      for (int y = 0; y < 2; ++y)
        for (int x = 0; x < 8; ++x) expected.push_back(at(0, w - 1, 2 + z, 1 + y, x));
  for (int w = 0; w < 2; ++w)
    for (int z = 0; z < 2; ++z)
      for (int y = 0; y < 2; ++y)
        for (int x = 0; x < 8; ++x) expected.push_back(at(1, 1 + w, z, 1 + y, x));
  CHECK(out == expected);
}

TEST_CASE("a missing wait shows in the data") {
  // Here another barrier's wait lets time pass, and the tile is still not there.
  const HopperKernel kernel(
      load_kernel("2048", "__syncthreads(); if (threadIdx.x == 1) wait(barrier, 0);", plain_load));
  const std::vector<int> from = counted(40 * 52);
  std::vector<int> out(512);
  kernel.run(launch_of(1, 64, 2048), map_of(from, {40, 52}, {16, 32}), out.data(), 0, 0);
  CHECK(out != expected_tile(0, 0, 0));
  CHECK(out[0] == -1);
}

TEST_CASE("what a GPU would not survive ends the block with the reason") {
  const std::vector<int> from = counted(40 * 52);
  const auto map = map_of(from, {40, 52}, {16, 32}), swizzled = map_of(from, {40, 52}, {16, 32}, 128);
  std::vector<int> out(512);
  const auto failure = [&](const std::string& bytes, const std::string& wait, const std::string& load,
                           const host::TensorMap& tensor) {
    return HopperKernel(load_kernel(bytes, wait, load)).failure(launch_of(1, 64, 2048), tensor, out.data(), 0, 0);
  };
  std::string text = failure("4096", plain_wait, plain_load, map);
  CHECK_MESSAGE(has(text,
                    "the kernel does not end: block (0, 0, 0): of 64 threads, 64 wait for the phase of parity 0 of "
                    "a barrier in shared memory (phase 0, parity 0: 0 of 1 arrivals are missing, 2048 bytes are "
                    "missing), the first is thread 0"),
                text);
  text = failure("1024", plain_wait, plain_load, map);
  CHECK_MESSAGE(has(text, "expected"), text);
  text = failure("2048", "", plain_load, map);
  CHECK_MESSAGE(has(text, "1 copies of tiles to its shared memory had not been waited for"), text);
  text = failure("2048", plain_wait, "load_tile(tile + 32, map, barrier, x, y);", map);
  CHECK_MESSAGE(has(text, "thread 0: a tile of 2048 bytes is not in the block's shared memory"), text);
  text = failure("2048", plain_wait, "load_tile(tile + 32, map, barrier, x, y);", swizzled);
  CHECK_MESSAGE(has(text, "a tile in shared memory with swizzle 128 begins 128 bytes beyond a multiple of 1024"), text);
  text = failure("2048", plain_wait, "load_tile(tile, map, barrier, x, y, 0);", map);
  CHECK_MESSAGE(has(text, "with 3 coordinates needs a tensor map of as many dimensions, and this one has 2"), text);
  text = failure("2048", plain_wait, "load_tile(tile, *(const TensorMap*)out, barrier, x, y);", map);
  CHECK_MESSAGE(has(text, "needs a tensor map, and there is none at this address"), text);
  text = failure("2048", plain_wait, "load_tile(tile, map, *(Barrier*)out, x, y);", map);
  CHECK_MESSAGE(has(text, "a barrier of 8 bytes is not in the block's shared memory"), text);
  text = failure("2048", "wait(barrier, 1); wait(barrier, 0); wait(barrier, 1);", plain_load, map);
  CHECK_MESSAGE(has(text,
                    "wait for the phase of parity 1 of a barrier in shared memory (phase 1, parity 1: 1 of 1 arrivals "
                    "are missing"),
                text);
  text = failure("1 << 20", plain_wait, plain_load, map);
  CHECK_MESSAGE(has(text, "counts at most 1048575 bytes"), text);
  text = failure("2048", "arrive(barrier); " + std::string(plain_wait), plain_load, map);
  CHECK_MESSAGE(has(text, "one more thread arrives than its count of 1"), text);
}

TEST_CASE("barriers are used only after they were initialised, and keep their memory") {
  const auto failure = [](const std::string& body) {
    std::vector<int> out(64);
    return HopperKernel("extern \"C\" __global__ void k(int* out) { __shared__ Barrier barrier; " + body + " }\n")
        .failure(launch_of(2, 64), out.data());
  };
  CHECK(
      failure("if (threadIdx.x == 0) init(barrier, 64); __syncthreads(); arrive(barrier); wait(barrier, 0);").empty());
  CHECK(failure("if (threadIdx.x == 40) init(barrier, 32); if (threadIdx.x >= 32) { __syncwarp(); arrive(barrier); "
                "wait(barrier, 0); }")
            .empty());
  std::string text = failure("if (threadIdx.x == 0) init(barrier, 64); arrive(barrier); wait(barrier, 0);");
  CHECK_MESSAGE(has(text, "thread 32: a barrier in shared memory is used before other warps see"), text);
  text = failure("arrive(barrier);");
  CHECK_MESSAGE(has(text, "thread 0: a barrier in shared memory is used before it was initialised"), text);
  text = failure("if (threadIdx.x == 0) { init(barrier, 64); barrier.state = 0; } __syncthreads(); wait(barrier, 0);");
  CHECK_MESSAGE(has(text, "was overwritten"), text);
  text = failure(
      "__shared__ __align__(8) char bytes[16]; Barrier& odd = *(Barrier*)(bytes + 4); if (threadIdx.x == 0) init(odd, "
      "64); __syncthreads(); arrive(odd);");
  CHECK_MESSAGE(has(text, "thread 0: a barrier in shared memory begins 4 bytes beyond a multiple of 8"), text);
  text = failure("if (threadIdx.x == 0) init(barrier, 64); __syncthreads(); arrive(barrier); wait(barrier, 2);");
  CHECK_MESSAGE(has(text, "thread 0: wait() for a phase of parity 2: 0 and 1 are allowed"), text);
  text = failure("if (threadIdx.x == 0) init(barrier, 0);");
  CHECK_MESSAGE(has(text, "initialised for 0 arrivals"), text);
}

TEST_CASE("a pipeline of two stages loads each tile into its own stage, in phases of both parities") {
  const std::string source = R"(
extern "C" __global__ void k(const __grid_constant__ TensorMap map, int* out, int steps) {
  __shared__ __align__(128) int tiles[2][128];
  __shared__ Barrier full[2], empty[2];
  if (threadIdx.x == 0) for (int i = 0; i < 2; ++i) { init(full[i], 1); init(empty[i], 64); }
  fence_init();
  __syncthreads();
  if (threadIdx.x >= 64) {  // the producer's warp
    if (threadIdx.x == 64)
      for (int step = 0; step < steps; ++step) {
        wait(empty[step % 2], (step / 2 + 1) % 2);
        arrive_expect(full[step % 2], 512);
        load_tile(tiles[step % 2], map, full[step % 2], 0, 4 * step);
      }
    return;
  }
  int sum = 0;
  for (int step = 0; step < steps; ++step) {
    WAIT
    sum += tiles[step % 2][threadIdx.x] + 3 * tiles[step % 2][127 - threadIdx.x];
    arrive(empty[step % 2]);
  }
  out[blockIdx.x * 64 + threadIdx.x] = sum;
})";
  const auto with = [&](const std::string& wait) {
    std::string text = source;
    text.replace(text.find("WAIT"), 4, wait);
    return text;
  };
  const int steps = 7;
  const std::vector<int> from = counted(32 * 4 * steps);
  const auto map = map_of(from, {4 * steps, 32}, {4, 32});
  std::vector<int> out(128), expected(128);
  for (std::size_t i = 0; i < 64; ++i) {
    for (std::size_t step = 0; step < steps; ++step)
      expected[i] += from[128 * step + i] + 3 * from[128 * step + 127 - i];
    expected[64 + i] = expected[i];
  }
  HopperKernel(with("wait(full[step % 2], step / 2 % 2);")).run(launch_of(2, 96), map, out.data(), steps);
  CHECK(out == expected);
  // A wait too few, or for the wrong phase.
  std::fill(out.begin(), out.end(), 0);
  std::string text = HopperKernel(with("if (step != 3) wait(full[step % 2], step / 2 % 2);"))
                         .failure(launch_of(2, 96), map, out.data(), steps);
  CHECK((!text.empty() || out != expected));
  text = HopperKernel(with("wait(full[step % 2], step % 2);")).failure(launch_of(2, 96), map, out.data(), steps);
  CHECK((!text.empty() || out != expected));
}

namespace {

std::string store_kernel(const std::string& before, const std::string& after) {
  return R"(
extern "C" __global__ void k(const __grid_constant__ TensorMap map, int x, int y) {
  __shared__ __align__(1024) int tile[512];
  for (int i = threadIdx.x; i < 512; i += blockDim.x) tile[(i * 4 ^ (i * 4 >> 7 & 7) << 4) / 4] = i + 1;
  fence_async();
  )" + before +
         R"(
  if (threadIdx.x == 0) { store_tile(map, tile, x, y); )" +
         after + R"( }
})";
}

}  // namespace

TEST_CASE("a tile is stored without what lies outside of the tensor") {
  const HopperKernel kernel(store_kernel("__syncthreads();", "store_commit(); store_wait<0>();"));
  for (const auto& [x, y] : {std::pair(0, 0), std::pair(20, 30), std::pair(-2, -1)}) {
    std::vector<int> to(40 * 52, 0), expected = to;
    kernel.run(launch_of(1, 64), map_of(to, {40, 52}, {16, 32}, 128), x, y);
    for (int i = 0; i < 512; ++i)
      if (const int row = y + i / 32, column = x + i % 32; row >= 0 && row < 40 && column >= 0 && column < 52)
        expected[static_cast<std::size_t>(row * 52 + column)] = i + 1;
    CHECK(to == expected);
  }
}

TEST_CASE("shared memory that is reused before a store has read it shows in the data") {
  std::vector<int> to(40 * 52, 0);
  const auto map = map_of(to, {40, 52}, {16, 32}, 128);
  const auto first = [&](const std::string& after) {
    to.assign(to.size(), 0);
    HopperKernel(store_kernel("__syncthreads();", after)).run(launch_of(1, 64), map, 0, 0);
    return to[0];
  };
  CHECK(first("store_commit(); store_wait_read<0>(); tile[0] = 77; store_wait<0>();") == 1);
  CHECK(first("store_commit(); store_wait_read<1>(); tile[0] = 77; store_wait<0>();") == 77);
  CHECK(first("store_commit(); store_wait_read<0>();") == 1);  // the end of the kernel writes it
  std::string text =
      HopperKernel(store_kernel("__syncthreads();", "store_commit();")).failure(launch_of(1, 64), map, 0, 0);
  CHECK_MESSAGE(has(text, "thread 0: it ended while 1 of its copies from shared memory"), text);
  text = HopperKernel(store_kernel("__syncthreads();", "store_wait<0>();")).failure(launch_of(1, 64), map, 0, 0);
  CHECK_MESSAGE(has(text, "store_commit()"), text);
  // A barrier too few: the other threads have written nothing yet.
  to.assign(to.size(), 0);
  HopperKernel(store_kernel("", "store_commit(); store_wait<0>();")).run(launch_of(1, 64), map, 0, 0);
  CHECK(to[1] != 2);
}

TEST_CASE("named barriers wait for as many threads as they say") {
  const auto result = [](const std::string& body, std::string* failure) {
    std::vector<int> out(128, 0);
    *failure =
        HopperKernel("extern \"C\" __global__ void k(int* out) { __shared__ int s[128]; const int t = threadIdx.x; " +
                     body + " }\n")
            .failure(launch_of(1, 128), out.data());
    return out;
  };
  std::string text;
  // Two pairs of warps, each with its own barrier; then one pair signals the other.
  std::vector<int> out = result(
      "s[t] = t; sync_named(1 + t / 64, 64); out[t] = s[t ^ 63]; sync_named(1 + t / 64, 64); s[t] = 2 * t; if (t < 64) "
      "arrive_named(3, 128); else { sync_named(3, 128); out[t] += s[t - 64]; }",
      &text);
  CHECK(text == "");
  std::vector<int> expected;
  for (int t = 0; t < 128; ++t) expected.push_back((t ^ 63) + (t < 64 ? 0 : 2 * (t - 64)));
  CHECK(out == expected);
  result("if (t < 96) sync_named(2, 128);", &text);
  CHECK_MESSAGE(has(text, "96 wait at named barrier 2, where 96 of 128 threads have arrived"), text);
  result("sync_named(0, 128);", &text);
  CHECK_MESSAGE(has(text, "named barrier 0: 1 to 15 are allowed"), text);
  result("sync_named(1, 100);", &text);
  CHECK_MESSAGE(has(text, "a multiple of 32"), text);
  result("sync_named(1, t < 64 ? 64 : 128); if (t >= 32 && t < 64) sync_named(1, 32);", &text);
  CHECK_MESSAGE(has(text, "named barrier 1 for "), text);
}

TEST_CASE("matrices of 8 x 8 go to shared memory and back, also transposed") {
  const HopperKernel kernel(R"(
extern "C" __global__ void k(unsigned short* out, unsigned* back) {
  __shared__ __align__(16) unsigned short s[4][64];
  const int lane = threadIdx.x;
  const auto value = [&](int m) { const unsigned first = m * 64 + lane / 4 * 8 + lane % 4 * 2; return first | (first + 1) << 16; };
  store_matrices(s[lane / 8] + lane % 8 * 8, value(0), value(1), value(2), value(3));
  for (int i = lane; i < 256; i += 32) out[i] = s[i / 64][i % 64];
  __syncwarp();
  unsigned own[4];
  load_matrices(s[lane / 8] + lane % 8 * 8, own);
  for (int m = 0; m < 4; ++m) back[m * 32 + lane] = own[m] == value(m);
  load_matrices_transposed(s[lane / 8] + lane % 8 * 8, own);
  __syncwarp();
  store_matrices_transposed(s[lane / 8] + lane % 8 * 8, own[0], own[1], own[2], own[3]);
  for (int i = lane; i < 256; i += 32) out[256 + i] = s[i / 64][i % 64];
  __syncwarp();
  store_matrices_transposed(s[lane / 8 % 2] + lane % 8 * 8, value(0), value(1));
  for (int i = lane; i < 128; i += 32) out[512 + i] = s[i / 64][i % 64];
})");
  std::vector<std::uint16_t> out(640);
  std::vector<unsigned> back(128);
  kernel.run(launch_of(1, 32), out.data(), back.data());
  CHECK(back == std::vector<unsigned>(128, 1));
  for (std::size_t i = 0; i < 256; ++i) CHECK(out[i] == i);
  for (std::size_t i = 0; i < 256; ++i) CHECK(out[256 + i] == i);
  for (std::size_t i = 0; i < 128; ++i) CHECK(out[512 + i] == i / 64 * 64 + i % 8 * 8 + i % 64 / 8);
}

TEST_CASE("rows of matrices of 8 x 8 lie in shared memory, at multiples of 16 bytes") {
  const auto failure = [](const std::string& call) {
    std::vector<int> out(64);
    return HopperKernel(
               "extern \"C\" __global__ void k(int* out) {\n"
               "  __shared__ __align__(16) unsigned short s[264];\n  unsigned own[4] = {};\n  " +
               call + "\n  out[threadIdx.x] = s[threadIdx.x] + own[0];\n}\n")
        .failure(launch_of(1, 32), out.data());
  };
  CHECK(failure("load_matrices(s + 8 * threadIdx.x, own);").empty());
  // Two matrices take the addresses of the first 16 lanes only.
  CHECK(failure("store_matrices(threadIdx.x < 16 ? s + 8 * threadIdx.x : nullptr, 1, 2);").empty());
  std::string text = failure("load_matrices(s + 8 * threadIdx.x + 1, own);");
  CHECK_MESSAGE(has(text, "thread 0: a row of a matrix in shared memory begins 2 bytes beyond a multiple of 16"), text);
  text = failure("load_matrices_transposed(out, own);");
  CHECK_MESSAGE(has(text, "a row of a matrix of 16 bytes is not in the block's shared memory"), text);
  text = failure("store_matrices(out, 1, 2);");
  CHECK_MESSAGE(has(text, "a row of a matrix of 16 bytes is not in the block's shared memory"), text);
  text = failure("store_matrices_transposed(out, 1, 2, 3, 4);");
  CHECK_MESSAGE(has(text, "a row of a matrix of 16 bytes is not in the block's shared memory"), text);
}

TEST_CASE("two numbers are rounded into one register, the first in its lower half") {
  const HopperKernel kernel(R"(
extern "C" __global__ void k(unsigned* out) {
  out[0] = narrow<Type::f16>(1.5f, -2.0f);
  out[1] = narrow<Type::bf16>(1.5f, -2.0f);
  out[2] = narrow<Type::bf16>(1.00390625f, 1.01171875f);  // ties, to even
  unsigned operands[1][4] = {{out[0], out[1], 2, 3}};
  keep(operands);
  wait_after(1.0f);
  out[3] = operands[0][1];
})");
  std::vector<unsigned> out(4);
  kernel.run(launch_of(1, 1), out.data());
  CHECK(out == std::vector<unsigned>{0xc0003e00, 0xc0003fc0, 0x3f823f80, 0xc0003fc0});
}

TEST_CASE("two numbers are read from one register, the first from its lower half") {
  const HopperKernel kernel(R"(
extern "C" __global__ void k(float* out) {
  const auto f16 = widen<Type::f16>(0xc0003e01u);
  const auto bf16 = widen<Type::bf16>(0xc0003fc1u);
  out[0] = f16[0];
  out[1] = f16[1];
  out[2] = bf16[0];
  out[3] = bf16[1];
})");
  std::vector<float> out(4);
  kernel.run(launch_of(1, 1), out.data());
  CHECK(out == std::vector<float>{1.5009765625f, -2.0f, 1.5078125f, -2.0f});
}

TEST_CASE("load_present reads 1, 2 or 4 bytes, and nothing but zero if they are not present") {
  const HopperKernel kernel(R"(
extern "C" __global__ void k(const unsigned char* from, unsigned* out, int present) {
  const int t = threadIdx.x;
  // An address that cannot be read, where nothing is.
  const unsigned char* at = t < present ? from + 4 * t : nullptr;
  out[3 * t] = load_present<1>(at, t < present);
  out[3 * t + 1] = load_present<2>(at, t < present);
  out[3 * t + 2] = load_present<4, Cache::first>(at, t < present);
}
)");
  std::vector<std::uint32_t> from(32), out(3 * 32, 7);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = 0x80706050u + static_cast<std::uint32_t>(i);
  constexpr int present = 20;
  kernel.run(launch_of(1, 32, 0), from.data(), out.data(), present);
  for (std::size_t i = 0; i < from.size(); ++i) {
    CAPTURE(i);
    const std::uint32_t word = i < present ? from[i] : 0;
    CHECK(out[3 * i] == (word & 0xff));
    CHECK(out[3 * i + 1] == (word & 0xffff));
    CHECK(out[3 * i + 2] == word);
  }
}
