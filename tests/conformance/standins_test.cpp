// Headers and functions of CUDA and C++ that a backend's compiler may lack, and that xtune provides there.
#include <numeric>

#include "suite.hpp"

using namespace xtune;
using namespace xtune::conformance;

namespace {

/// What a kernel with 64 threads in a block wrote, one int each; empty without a device.
std::vector<int> results_of(const Target& t, const std::string& source) {
  const auto artifact = compile(t, source, "k");
  if (!t.device) return {};
  const auto out = upload(t, std::vector<int>(64, -1));
  run(t, artifact, {{1, 1, 1}, {64, 1, 1}}, arguments(out));
  return download<int>(*out);
}

void check_all_one(const std::vector<int>& results) {
  for (std::size_t i = 0; i < results.size(); ++i) CHECK_MESSAGE(results[i] == 1, "thread " << i);
}

}  // namespace

CONFORMANCE_TEST("headers of the C and C++ libraries") {
  check_all_one(results_of(t, R"(
#include <algorithm>
#include <cfloat>
#include <climits>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <limits.h>
#include <stdint.h>
#if defined(XTUNE_HOST) || (defined(XTUNE_HIP) && !defined(__HIPCC_RTC__))
#include <array>
#include <type_traits>
static_assert(std::is_same<std::array<int, 2>::value_type, int>::value, "found");
#elif defined(XTUNE_HIP) && HIP_VERSION_MAJOR < 6
static_assert(std::is_same<std::enable_if<std::is_integral<int>::value, int>::type, int>::value, "built in");
static_assert(std::is_floating_point<float>::value && std::is_arithmetic<float>::value, "built in");
#endif
extern "C" __global__ void k(int* out) {
  const std::uint32_t a = 0xffffffffu;
  const int64_t b = INT64_MAX;
  const std::uintptr_t c = reinterpret_cast<std::uintptr_t>(out);
  const std::ptrdiff_t d = -1;
  static_assert(sizeof(std::int64_t) == 8 && sizeof(int16_t) == 2 && sizeof(std::size_t) == 8, "sizes");
  static_assert(std::numeric_limits<int>::max() == INT_MAX && std::numeric_limits<uint64_t>::min() == 0, "integers");
  static_assert(std::numeric_limits<float>::lowest() == -FLT_MAX && !std::numeric_limits<float>::is_integer, "floats");
  bool right = a == UINT32_MAX && b > INT_MAX && c % 4 == 0 && d < 0;
  right = right && std::numeric_limits<double>::infinity() > DBL_MAX && std::isnan(std::numeric_limits<float>::quiet_NaN());
  right = right && std::sqrt(4.0f) == 2 && std::fmax(1.0, 2.0) == 2 && std::abs(-1.5f) == 1.5f && INFINITY > FLT_MAX;
  right = right && std::max(1, 2) == 2 && std::min(1.0f, 2.0f) == 1 && M_PI > 3.14;
  out[threadIdx.x] = right;
})"));
}

CONFORMANCE_TEST("types and functions of the CPU's side of a program") {
  check_all_one(results_of(t, R"(
#include <chrono>
#include <cublas_v2.h>
#include <stdexcept>
#include <string>
#include <vector>
struct Handles { cublasHandle_t handle; cublasStatus_t status; };
struct Options { std::string name; std::vector<float> sizes; int n; };
struct Failure : public std::exception {
  explicit Failure(const std::string& text);
  const char* what() const noexcept override;
  std::string text;
};
template <class T>
struct View {
  T* data;
  __host__ View(const std::vector<T>& from);
  __host__ __device__ View(T* to) : data(to) {}
  __host__ std::vector<T> copy() const;
};
static constexpr auto largest = std::numeric_limits<float>::max();
// They come with the headers above.
template <class T, typename std::enable_if<std::is_integral<T>::value, int>::type = 0>
__device__ bool is_number(T) {
  return std::is_same<T, int>::value;
}
extern "C" __global__ void k(int* out) {
  View<int>(out).data[threadIdx.x] = sizeof(Options) == 64 && sizeof(Failure) == 40 && largest > 3e38f && is_number(1);
})"));
}

CONFORMANCE_TEST("CUDA's functions of a warp, of bytes and of memory") {
  check_all_one(results_of(t, R"(
#ifdef XTUNE_HOST
#include <cassert>
#endif
struct Pair {
  float first;
  double second;
};
#include <xtune/portable.cuh>
extern "C" __global__ void k(int* out) {
  __shared__ int sum;
  const int thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
  const unsigned all = 0xffffffffu;
  bool right = __shfl_sync(all, thread, 5) == warp * 32 + 5;
  right = right && __shfl_up_sync(all, lane, 1) == (lane == 0 ? 0 : lane - 1);
  right = right && __shfl_down_sync(all, lane, 2, 8) == (lane % 8 < 6 ? lane + 2 : lane);
  right = right && __shfl_xor_sync(all, 1.5 * thread, 3) == 1.5 * (thread ^ 3);
  right = right && __ballot_sync(all, lane < 3 + warp) == (warp == 0 ? 7u : 15u);
  const int any = __any_sync(all, thread == 40), every = __all_sync(all, thread < 40);
  right = right && !any == !warp && !every == (warp == 1);
  // Lanes outside of the width: modulo the width, or the lane itself.
  right = right && __shfl_sync(all, thread, lane + 1) == warp * 32 + (lane + 1) % 32;
  right = right && __shfl_sync(all, thread, -1) == warp * 32 + 31 && xtune::shuffle(thread, 37) == warp * 32 + 5;
  right = right && __shfl_sync(all, lane, lane + 3, 8) == lane / 8 * 8 + (lane + 3) % 8;
  right = right && __shfl_sync(all, lane, 21, 16) == lane / 16 * 16 + 5;
  right = right && __shfl_up_sync(all, lane, 9, 16) == (lane % 16 < 9 ? lane : lane - 9);
  right = right && __shfl_down_sync(all, lane, 9, 16) == (lane % 16 < 7 ? lane + 9 : lane);
  right = right && __shfl_down_sync(all, thread, 31) == (lane < 1 ? thread + 31 : thread);
  right = right && __shfl_xor_sync(all, lane, 12, 8) == ((lane ^ 12) / 8 > lane / 8 ? lane : lane ^ 12);
  right = right && __shfl_xor_sync(all, thread, 33) == (thread ^ 1) && xtune::shuffle_xor(thread, 33) == (thread ^ 1);
#ifdef XTUNE_HIP
  const int wave = thread / warpSize * warpSize;
  right = right && __shfl_sync(~0ull, thread, thread + 1) == wave + (thread + 1) % warpSize;
  right = right && __shfl_sync(~0ull, thread, -1) == wave + warpSize - 1;
  right = right && __shfl_up_sync(~0ull, thread, 40, 64) == (warpSize == 64 && thread >= 40 ? thread - 40 : thread);
  right = right && __shfl_xor_sync(~0ull, thread, warpSize / 2) == (thread ^ warpSize / 2);
#endif
#ifndef XTUNE_CUDA  // where __activemask() is what the compiler makes of it
  const unsigned third = 0x49249249u;
  unsigned active = __activemask(), some = 0, other = 0, voted = __ballot_sync(all, lane != 7);
  right = right && active == all && voted == ~(1u << 7);
  if (lane % 3 == 0) {
    some = __activemask();
    voted = __ballot_sync(third, lane != 7);
  } else {
    other = __activemask();
    voted = __ballot_sync(~third, lane != 7);
  }
  right = right && (lane % 3 == 0 ? some == third && voted == third : other == ~third && voted == (~third & ~(1u << 7)));
#endif
#ifndef XTUNE_CUDA  // NVRTC 11 does not declare all of these
  right = right && __dp4a(0x01ff7f80, 0x02037f80, 5) == 2 - 3 + 127 * 127 + 128 * 128 + 5;
  right = right && __dp4a(0xff000001u, 0x02000003u, 1u) == 514u;
  right = right && __ffsll(thread + 64) == __ffs(thread + 64) && __ffsll(1ull << 40) == 41;
  if (thread == 0) sum = 0;
  __syncthreads();
  atomicAdd_block(&sum, 1);
  __nanosleep(20);
  __syncthreads();
  right = right && sum == 64;
  if (sum != 64) __trap();
  __syncwarp();
  __stcs(out + thread, 7);
  __stcg(out + thread, __ldcg(out + thread) + __ldcs(out + thread) + __ldcv(out + thread));
  right = right && out[thread] == 21;
#endif
  assert(right);
  out[thread] = right;
})"));
}

CONFORMANCE_TEST("cooperative groups of a block and of parts of a warp") {
  check_all_one(results_of(t, R"(
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
extern "C" __global__ void k(int* out) {
  __shared__ int last[64];
  const cg::thread_block block = cg::this_thread_block();
  const cg::thread_block_tile<32> warp = cg::tiled_partition<32>(block);
  const auto four = cg::tiled_partition<4>(block);
  const int thread = block.thread_rank();
  last[63 - thread] = thread;
  block.sync();
  bool right = last[thread] == 63 - thread && block.size() == 64 && block.group_index().x == 0;
  right = right && warp.size() == 32 && warp.thread_rank() == thread % 32 && warp.meta_group_rank() == thread / 32;
  // CUDA counts the tiles of the group that was divided, which a type without its name remembers.
  const cg::thread_block_tile<8> eight = cg::tiled_partition<8>(warp);
  right = right && eight.meta_group_rank() == thread % 32 / 8 && eight.meta_group_size() == 4 && warp.meta_group_size() == 2;
  right = right && cg::reduce(warp, thread, cg::plus<int>()) == (thread < 32 ? 496 : 1520);
  right = right && cg::reduce(four, thread, cg::greater<int>()) == thread / 4 * 4 + 3;
  right = right && four.shfl(thread, 1) == thread / 4 * 4 + 1 && four.ballot(thread % 4 == 2) == 4;
  right = right && four.shfl(thread, 6) == thread / 4 * 4 + 2 && four.shfl(thread, -1) == thread / 4 * 4 + 3;
  right = right && four.shfl_up(thread, 3) == (thread % 4 == 3 ? thread - 3 : thread);
  right = right && four.shfl_down(thread, 2) == (thread % 4 < 2 ? thread + 2 : thread);
  right = right && warp.any(thread == 40) == (thread >= 32) && four.all(1);
  cg::sync(warp);
  out[thread] = right;
})"));
}

CONFORMANCE_TEST("averages of integers, and sums of half precision by the same name") {
  check_all_one(results_of(t, R"(
#include <cuda_fp16.h>
struct Scaled {
  __half value;
  __device__ operator __half() const { return value; }
};
extern "C" __global__ void k(int* out) {
  const int thread = threadIdx.x;
  bool right = __hadd(2 * thread, 0) == thread && __hadd(-3, 0) == -2 && __hadd(2147483647, 2147483645) == 2147483646;
  right = right && __rhadd(2 * thread, 1) == thread + 1 && __rhadd(-3, 0) == -1;
  right = right && __uhadd(4294967295u, 4294967293u) == 4294967294u && __urhadd(4294967295u, 2u * thread) == 2147483648u + thread;
  right = right && __half2float(__hadd(__float2half(1.5f), __float2half(thread))) == thread + 1.5f;
  right = right && __half2float(__hadd(__float2half(1.5f), Scaled{__float2half(thread)})) == thread + 1.5f;
  out[thread] = right;
})"));
}

CONFORMANCE_TEST("half precision by CUDA's headers") {
  check_all_one(results_of(t, R"(
#include <cuda_bf16.h>
#include <cuda_fp16.h>
extern "C" __global__ void k(int* out) {
  const __nv_bfloat16 a = __float2bfloat16(1.5f);
  __nv_bfloat162 pair = __floats2bfloat162_rn(1.0f, 2.0f);
  pair = __hfma2(pair, pair, pair);
  bool right = __bfloat162float(__hmul(a, a)) == 2.25f && __bfloat162float(__float2bfloat16(1.001953125f)) == 1.0f;
  right = right && __low2float(pair) == 2.0f && __high2float(pair) == 6.0f && __hlt(a, __float2bfloat16(2.0f));
  const __nv_bfloat16 nan = __ushort_as_bfloat16(0x7fc0), zero = __float2bfloat16(0.0f), less = __float2bfloat16(-0.0f);
  right = right && !__hne(a, nan) && __hneu(a, nan) && a != nan && __bfloat162float(__hmin(a, nan)) == 1.5f;
  right = right && __bfloat16_as_ushort(__hmax(less, zero)) == 0 && __bfloat16_as_ushort(__hmin(zero, less)) == 0x8000;
  const __half one = __float2half(1.0f), more = __float2half(1.5f);
  right = right && __half2float(__hadd(one, __float2half(0.5f))) == 1.5f;
  right = right && __half2float(__hmax(one, more)) == 1.5f && __half2float(__hmin(one, more)) == 1.0f;
  right = right && __high2float(__hmax2(__halves2half2(more, one), __float2half2_rn(1.25f))) == 1.25f;
  right = right && __half2int_rn(more) == 2 && __half2int_rz(more) == 1 && __half2int_rd(__float2half(-1.5f)) == -2;
  right = right && __half2int_ru(__float2half(1.25f)) == 2 && __half2int_rn(__float2half(-2.5f)) == -2;
  right = right && __low2float(h2sqrt(__float2half2_rn(4.0f))) == 2.0f && !__hisinf(one);
  out[threadIdx.x] = right;
})"));
}
