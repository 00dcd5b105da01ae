// Shared memory, barriers, warps and atomics.
#include <algorithm>
#include <cstdint>
#include <numeric>

#include "suite.hpp"

using namespace xtune;
using namespace xtune::conformance;

CONFORMANCE_TEST("static shared memory turns a block around") {
  const auto artifact = compile(t, R"(
extern "C" __global__ void turn(int* x) {
  __shared__ int tile[128];
  __shared__ __align__(16) int other[2][64];
  const int i = threadIdx.x, base = blockIdx.x * 128;
  tile[i] = x[base + i];
  other[i / 64][i % 64] = i;
  __syncthreads();
  x[base + i] = tile[127 - i] * 1000 + other[1 - i / 64][i % 64];
})",
                                "turn");
  if (!t.device) return;
  std::vector<int> before(128 * 50);
  std::iota(before.begin(), before.end(), 0);
  const auto x = upload(t, before);
  run(t, artifact, {{50, 1, 1}, {128, 1, 1}}, arguments(x));
  const auto after = download<int>(*x);
  int wrong = 0;
  for (int i = 0; i < 128 * 50; ++i)
    wrong += after[static_cast<std::size_t>(i)] != (i / 128 * 128 + 127 - i % 128) * 1000 + (i % 128 + 64) % 128;
  CHECK(wrong == 0);
}

CONFORMANCE_TEST("dynamic shared memory, more than fits without opting in") {
  const auto artifact = compile(t, R"(
extern "C" __global__ void turn(const float* in, float* out, int n) {
  extern __shared__ float4 shared[];
  float* const tile = reinterpret_cast<float*>(shared);
  for (int i = threadIdx.x; i < n; i += blockDim.x) tile[i] = in[i];
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = tile[n - 1 - i];
})",
                                "turn");
  if (!t.device) return;
  for (const std::int64_t bytes :
       {std::int64_t{1024}, t.device->info().shared_per_block, t.device->info().shared_per_block_optin}) {
    const int n = static_cast<int>(bytes / 4);
    std::vector<float> before(static_cast<std::size_t>(n));
    std::iota(before.begin(), before.end(), 1.0f);
    const auto in = upload(t, before), out = upload(t, std::vector<float>(before.size()));
    run(t, artifact, {{1, 1, 1}, {100, 1, 1}, {0, 0, 0}, static_cast<std::uint32_t>(bytes)}, arguments(in, out, n));
    auto after = download<float>(*out);
    std::reverse(after.begin(), after.end());
    CHECK_MESSAGE(after == before, bytes << " bytes");
  }
}

CONFORMANCE_TEST("a block reduction with a barrier a step") {
  const auto artifact = compile(t, R"(
template <int BLOCK> __global__ void reduce(const float* x, float* sums, int n) {
  __shared__ float part[BLOCK];
  float mine = 0.0f;
  for (int i = blockIdx.x * BLOCK + threadIdx.x; i < n; i += gridDim.x * BLOCK) mine += x[i];
  part[threadIdx.x] = mine;
  __syncthreads();
  for (int half = BLOCK / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) sums[blockIdx.x] = part[0];
})",
                                "reduce<256>");
  if (!t.device) return;
  const int n = 123457;
  std::vector<float> values(n);
  for (int i = 0; i < n; ++i) values[static_cast<std::size_t>(i)] = static_cast<float>(i % 7);
  const auto x = upload(t, values), sums = upload(t, std::vector<float>(33));
  run(t, artifact, {{33, 1, 1}, {256, 1, 1}}, arguments(x, sums, n));
  const auto parts = download<float>(*sums);
  CHECK(std::accumulate(parts.begin(), parts.end(), 0.0) == std::accumulate(values.begin(), values.end(), 0.0));
}

CONFORMANCE_TEST("many barriers keep the threads of every block in step") {
  const auto artifact = compile(t, R"(
extern "C" __global__ void rotate(unsigned* out, int rounds) {
  __shared__ unsigned ring[2][96];
  const int n = blockDim.x * blockDim.y, i = threadIdx.x + blockDim.x * threadIdx.y;
  ring[0][i] = blockIdx.x * 1000 + i;
  for (int r = 0; r < rounds; ++r) {
    __syncthreads();
    ring[(r + 1) & 1][i] = ring[r & 1][(i + 1) % n] + 1;
  }
  __syncthreads();
  out[blockIdx.x * n + i] = ring[rounds & 1][i];
})",
                                "rotate");
  if (!t.device) return;
  const auto out = upload(t, std::vector<std::uint32_t>(20 * 96));
  run(t, artifact, {{20, 1, 1}, {12, 8, 1}}, arguments(out, 100));
  const auto values = download<std::uint32_t>(*out);
  int wrong = 0;
  for (std::uint32_t b = 0; b < 20; ++b)
    for (std::uint32_t i = 0; i < 96; ++i) wrong += values[b * 96 + i] != b * 1000 + (i + 100) % 96 + 100;
  CHECK(wrong == 0);
}

CONFORMANCE_TEST("barriers that count, and threads that have left") {
  const auto artifact = compile(t, R"(
extern "C" __global__ void votes(int* out) {
  const int i = threadIdx.x;
  const int count = __syncthreads_count(i % 3 == 0);
  const int any = __syncthreads_or(i == 17), none = __syncthreads_or(i < 0);
  const int all = __syncthreads_and(i >= 0), some = __syncthreads_and(i > 0);
  if (i == 0) { out[0] = count; out[1] = any != 0; out[2] = none != 0; out[3] = all != 0; out[4] = some != 0; }
  __shared__ int box[256];
  if (i >= 192) return;  // whole warps leave, of 32 lanes or 64; the barrier below is for the others
  box[i] = i;
  __syncthreads();
  if (i == 1) out[5] = box[191 - i];
})",
                                "votes");
  if (!t.device) return;
  const auto out = upload(t, std::vector<int>(6, -1));
  run(t, artifact, {{1, 1, 1}, {256, 1, 1}}, arguments(out));
  CHECK(download<int>(*out) == std::vector<int>{86, 1, 0, 1, 0, 190});
}

CONFORMANCE_TEST("warp shuffles and votes") {
  const auto artifact = compile(t, R"(
#include "portable.cuh"
extern "C" __global__ void warps(float* shuffled, unsigned long long* votes, double* wide, int* size) {
  const int i = threadIdx.x, lane = i % warpSize;
  const float v = (float)i;
  shuffled[4 * i] = SHFL(v, 5);
  shuffled[4 * i + 1] = SHFL_UP(v, 1);
  shuffled[4 * i + 2] = SHFL_DOWN(v, 2);
  shuffled[4 * i + 3] = SHFL_XOR(v, 3);
  double sum = i;
  for (int offset = warpSize / 2; offset > 0; offset /= 2) sum += SHFL_DOWN(sum, offset);
  if (lane == 0) wide[i / warpSize] = sum;
  const unsigned long long odd = BALLOT(lane % 2);
  const int any = ANY(i == 40), all = ALL(i >= 0), not_all = ALL(lane > 0);
  if (lane == 0) { votes[4 * (i / warpSize)] = odd; votes[4 * (i / warpSize) + 1] = any != 0; votes[4 * (i / warpSize) + 2] = all != 0;
                   votes[4 * (i / warpSize) + 3] = not_all != 0; }
  if (i == 0) *size = warpSize;
})",
                                "warps");
  if (!t.device) return;
  const auto shuffled = upload(t, std::vector<float>(4 * 128));
  const auto votes = upload(t, std::vector<std::uint64_t>(16)), wide = upload(t, std::vector<double>(4)),
             size = upload(t, std::vector<int>(1));
  run(t, artifact, {{1, 1, 1}, {128, 1, 1}}, arguments(shuffled, votes, wide, size));
  const int warp = download<int>(*size)[0];
  REQUIRE(warp == t.device->info().warp_size);
  const auto values = download<float>(*shuffled);
  const auto ballots = download<std::uint64_t>(*votes);
  const auto sums = download<double>(*wide);
  for (int i = 0; i < 128; ++i) {
    const int lane = i % warp, base = i - lane;
    const auto* v = &values[4 * static_cast<std::size_t>(i)];
    CHECK(v[0] == static_cast<float>(base + 5));
    CHECK(v[1] == static_cast<float>(lane == 0 ? i : i - 1));
    CHECK(v[2] == static_cast<float>(lane + 2 >= warp ? i : i + 2));
    CHECK(v[3] == static_cast<float>(i ^ 3));
  }
  for (std::size_t w = 0; w < 128u / static_cast<unsigned>(warp); ++w) {
    CHECK(ballots[4 * w] == (warp == 32 ? 0xaaaaaaaau : 0xaaaaaaaaaaaaaaaau));
    CHECK(ballots[4 * w + 1] == (40 / static_cast<unsigned>(warp) == w));
    CHECK(ballots[4 * w + 2] == 1);
    CHECK(ballots[4 * w + 3] == 0);
    const double first = static_cast<double>(w) * warp;
    CHECK(sums[w] == first * warp + warp * (warp - 1) / 2.0);
  }
}

CONFORMANCE_TEST("parts of a warp shuffle on their own") {
  const auto artifact = compile(t, R"(
#include "portable.cuh"
#if CUDA_SPELLING
#define PART(v, delta) __shfl_down_sync(mask, v, delta, 8)
#else
#define PART(v, delta) __shfl_down(v, delta, 8)
#endif
extern "C" __global__ void parts(int* out) {
  const int i = threadIdx.x;
  int sum = i;
  if (i % 32 < 16) {  // a branch that half of each 32 lanes take
    const unsigned mask = 0xffffu; (void)mask;
    for (int offset = 4; offset > 0; offset /= 2) sum += PART(sum, offset);
  }
  out[i] = sum;
})",
                                "parts");
  if (!t.device) return;
  const auto out = upload(t, std::vector<int>(64));
  run(t, artifact, {{1, 1, 1}, {64, 1, 1}}, arguments(out));
  const auto values = download<int>(*out);
  for (int i = 0; i < 64; ++i) {
    if (i % 32 >= 16)
      CHECK(values[static_cast<std::size_t>(i)] == i);
    else if (i % 8 == 0)
      CHECK(values[static_cast<std::size_t>(i)] == 8 * i + 28);
  }
}

CONFORMANCE_TEST("atomics on global and shared memory") {
  const auto artifact = compile(t, R"(
extern "C" __global__ void count(const int* x, int* bins, float* total, unsigned* wrapped, unsigned long long* wide, int* extremes, int n) {
  __shared__ int local[16];
  if (threadIdx.x < 16) local[threadIdx.x] = 0;
  __syncthreads();
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    atomicAdd(&local[x[i] & 15], 1);
    atomicAdd(total, 1.0f);
    atomicInc(wrapped, 6u);
    atomicAdd(wide, 1ull << 33);
    atomicMin(&extremes[0], x[i]);
    atomicMax(&extremes[1], x[i]);
    atomicOr((unsigned*)&extremes[2], 1u << (x[i] & 31));
    int old = extremes[3], seen;
    do { seen = old; old = atomicCAS(&extremes[3], seen, seen + 2); } while (old != seen);
  }
  __syncthreads();
  if (threadIdx.x < 16) atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
})",
                                "count");
  if (!t.device) return;
  const int n = 20000;
  std::vector<int> values(n);
  for (int i = 0; i < n; ++i) values[static_cast<std::size_t>(i)] = (i * 8) % 1001 - 500;
  std::vector<int> expected(16);
  for (const int v : values) ++expected[static_cast<std::size_t>(v & 15)];
  const auto x = upload(t, values), bins = upload(t, std::vector<int>(16)),
             extremes = upload(t, std::vector<int>{0, 0, 0, 0});
  const auto total = upload(t, std::vector<float>(1));
  const auto wrapped = upload(t, std::vector<std::uint32_t>(1));
  const auto wide = upload(t, std::vector<std::uint64_t>(1));
  run(t, artifact, {{(n + 127) / 128, 1, 1}, {128, 1, 1}}, arguments(x, bins, total, wrapped, wide, extremes, n));
  CHECK(download<int>(*bins) == expected);
  CHECK(download<float>(*total)[0] == 20000.0f);
  CHECK(download<std::uint32_t>(*wrapped)[0] == n % 7);
  CHECK(download<std::uint64_t>(*wide)[0] == (std::uint64_t{20000} << 33));
  const auto ends = download<int>(*extremes);
  CHECK(ends[0] == -500);
  CHECK(ends[1] == 500);
  CHECK(ends[2] == -1);
  CHECK(ends[3] == 2 * n);
}

CONFORMANCE_TEST("the portable header's lanes are groups of 32") {
  const auto artifact = compile(t, R"(
#include <xtune/portable.cuh>
extern "C" __global__ void XTUNE_LAUNCH_BOUNDS(128, 1) k(int* out) {
  const int i = threadIdx.x, lane = i % xtune::lane_count;
  int* const own = out + 6 * i;
  own[0] = xtune::shuffle(i, 5);
  own[1] = xtune::shuffle_down(i, 1);
  own[2] = xtune::shuffle_up(i, 1);
  own[3] = xtune::shuffle_xor(i, 31);
  own[4] = static_cast<int>(xtune::ballot(i / 32 == 1 || lane == 3));
  xtune::sync_lanes();
  own[5] = xtune::ceil_div(i, 32);
})",
                                "k");
  if (!t.device) return;
  const auto out = upload(t, std::vector<int>(128 * 6));
  run(t, artifact, {{1, 1, 1}, {128, 1, 1}}, arguments(out));
  const auto result = download<int>(*out);
  int wrong = 0;
  for (int i = 0; i < 128; ++i) {
    const int first = i / 32 * 32, lane = i % 32;
    const int expected[] = {first + 5, lane == 31 ? i : i + 1,    lane == 0 ? i : i - 1,
                            i ^ 31,    i / 32 == 1 ? -1 : 1 << 3, (i + 31) / 32};
    for (int j = 0; j < 6; ++j) wrong += result[static_cast<std::size_t>(6 * i + j)] != expected[j];
  }
  CHECK(wrong == 0);
}
