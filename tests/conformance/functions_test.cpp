// The device functions of docs/device-functions.md: each line compiles where the page says so, and those that xtune
// itself has return CUDA's values.
#include <fmt/format.h>

#include <map>
#include <sstream>

#include "base/text.hpp"
#include "suite.hpp"
#include "system/files.hpp"

using namespace xtune;
using namespace xtune::conformance;

namespace {

constexpr const char* variables = R"(
#include <assert.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <hip/hip_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <iostream>
#include <nowhere/of_the_host.h>
#include <string>
#include <vector>
using namespace std;
extern "C" __global__ void k(int* pi, unsigned* pu, long long* pl, unsigned long long* pul, float* pf, double* pd,
                             __half* ph, __half2* ph2, __nv_bfloat16* pb, __nv_bfloat162* pb2, unsigned short* ps) {
  int i = *pi, j = i;
  unsigned u = *pu, v = u, m = 0xffffffffu;
  long long l = *pl;
  unsigned long long ul = *pul;
  float f = *pf;
  double d = *pd;
  __half h = *ph;
  __half2 h2 = *ph2;
  __nv_bfloat16 b = *pb;
  __nv_bfloat162 b2 = *pb2;
  unsigned short s = *ps;
  bool t = false;
)";

/// The calls of the page's tables that a backend has, or lacks.
std::vector<std::string> calls_of_page(const std::string& backend, bool has) {
  const std::map<std::string, std::size_t> columns{{"cuda", 2}, {"hip", 3}, {"host", 4}};
  const std::string page = system::read_file(XTUNE_SOURCE_DIR "/docs/device-functions.md");
  std::vector<std::string> calls;
  for (const std::string_view line : base::split_lines(page)) {
    if (!line.starts_with("| `")) continue;
    std::vector<std::string> cells;
    std::istringstream parts{std::string(line)};
    for (std::string cell; std::getline(parts, cell, '|');) cells.emplace_back(base::trimmed(cell));
    REQUIRE(cells.size() == 5);
    if ((cells[columns.at(backend)] != "no") != has) continue;
    std::istringstream code(cells[1]);
    std::string call;
    while (std::getline(code, call, '`') && std::getline(code, call, '`')) calls.push_back(call);
  }
  return calls;
}

std::string kernel_of(const std::vector<std::string>& calls) {
  std::string source = variables;
  for (const std::string& call : calls) source += "  static_cast<void>(" + call + ");\n";
  return source + "}\n";
}

}  // namespace

COMPILER_TEST("the page of device functions is true, line by line") {
  const std::string backend = t.backend == "hip" && t.arch.starts_with("sm_") ? "cuda" : t.backend;
  if (backend != "cuda" && backend != "hip" && backend != "host") return;
  const auto calls = calls_of_page(backend, true);
  CHECK(calls.size() > 200);
  compile(t, kernel_of(calls), "k");
  for (const std::string& call : calls_of_page(backend, false)) {
    CAPTURE(call);
    CHECK(failing_compile(t, request_for(t, kernel_of({call}), "k")).outcome() == Outcome::compile_failed);
  }
}

CONFORMANCE_TEST("functions of CUDA that HIP and the C library lack have its values") {
  const auto artifact = compile(t, R"(
__device__ unsigned same(unsigned a, unsigned b) { return a == b; }
extern "C" __global__ void k(int* out, float one, double two) {
  const int thread = threadIdx.x, lane = thread % 32;
  const unsigned all = 0xffffffffu, odd = 0xaaaaaaaau;
  bool right = same(__vadd4(0xff010203u, 0x01020304u), 0x00030507u) && same(__vaddss2(0x7fff8000u, 0x0001ffffu), 0x7fff8000u);
  right = right && same(__vaddus4(0xff010203u, 0x01020304u), 0xff030507u) && same(__vsubus2(0x00010005u, 0x00020003u), 2u);
  right = right && same(__vavgs2(0xfffd0003u, 0x00000000u), 0xfffe0002u) && same(__vavgu4(0x00ff0001u, 0x01ff0000u), 0x01ff0001u);
  right = right && same(__vcmpgtu4(0x01ff0005u, 0x00ff0104u), 0xff0000ffu) && same(__vsetlts2(0xffff0001u, 0x00000000u), 0x00010000u);
  right = right && same(__vabsss2(0x80007fffu), 0x7fff7fffu) && same(__vneg4(0x01ff8000u), 0xff018000u) && __vsadu4(0x01020304u, 0x04030201u) == 8;
  right = right && same(__vmaxs4(0x80ff017fu, 0x00000000u), 0x0000017fu) && same(__vhaddu2(0x00030001u, 0x00040001u), 0x00030001u);
  right = right && __dp2a_lo(0x0002ffff, 0x04030201, 10) == 10 - 1 + 4 && __dp2a_hi(0x00020001, 0x04030201, 10) == 10 + 3 + 8;
  right = right && __vimax3_s32_relu(-3, -2, -1) == 0 && __viaddmin_u32(1u, 2u, 9u) == 3u && same(__vimin3_s16x2(0x00050001u, 0x0001ffffu, 0x00030003u), 0x0001ffffu);
  right = right && __funnelshift_lc(1u, 2u, 40u) == 1u && __funnelshift_rc(1u, 2u, 32u) == 2u && __funnelshift_l(0x80000000u, 1u, 1u) == 3u;
  right = right && __sad(-3, 4, 1u) == 8 && __usad(2u, 5u, 1u) == 4 && __mul64hi(1ll << 40, -(1ll << 40)) == -(1ll << 16);
  right = right && __hiloint2double(0x3ff00000, 0) == 1 && __double2hiint(-two) == (int)0xc0000000u && __double2loint(two) == 0;
  // A third, to both sides; sums whose small part only directed rounding sees; the largest numbers.
  right = right && __fdiv_rz(one, 3.0f) < __fdiv_ru(one, 3.0f) && __fdiv_rd(one, 3.0f) == __fdiv_rz(one, 3.0f) && __frcp_rd(-3.0f) == -__frcp_ru(3.0f);
  right = right && __fadd_ru(one, 1e-30f) == 1.00000011920928955078125f && __fadd_rd(one, 1e-30f) == 1 && __fadd_rz(one, -1e-30f) == 0.999999940395355224609375f;
  right = right && __fmul_rz(3e38f, 2 * one) == 3.402823466e38f && __fmaf_rd(one, one, -1e-30f) == 0.999999940395355224609375f;
  right = right && __fsqrt_ru(2 * one) - __fsqrt_rd(2 * one) == 1.1920928955078125e-7f && __double2float_ru(two / 3 * 4) >= two / 3 * 4;
  right = right && __dadd_ru(two / 2, 1e-300) == 1.0000000000000002220446049250313 && __dmul_rz(-1e308, 10 * two) == -1.7976931348623157e308;
  right = right && __ddiv_ru(1.0, 3.0) > __ddiv_rd(1.0, 3.0) && __dsqrt_rd(two) * __dsqrt_rd(two) < 2.0000000000000004441 && __fma_ru(two, two, 1e-300) > 4;
  right = right && min(thread, 3u) == (thread < 3 ? thread : 3) && max(-1, 3u) == 0xffffffffu && umin(2u, 3u) == 2 && llmax(-1ll, 1ll) == 1;
#if !defined(XTUNE_CUDA)
  right = right && __reduce_add_sync(all, thread) == (thread < 32 ? 496 : 1520) && __reduce_max_sync(all, -lane) == 0;
  right = right && min((unsigned long)thread + 9, 3) == 3 && max(-1, (short)2) == 2 && max(9ull, thread) >= 9;
  right = right && __reduce_or_sync(all, 1u << lane) == all && __reduce_xor_sync(all, 1u << lane % 4) == 0u;
#endif
  right = right && __match_any_sync(all, lane / 8) == 0xffu << lane / 8 * 8;
  int equal = 7;
  right = right && __match_all_sync(all, 5ll, &equal) == all && equal == 1 && __match_all_sync(all, lane, &equal) == 0u && equal == 0;
  if (lane % 2 == 1) right = right && __match_any_sync(odd, lane < 8 ? 1.5 : 2.5) == (lane < 8 ? 0xaau : 0xaaaaaa00u);
#if !defined(XTUNE_CUDA)
  if (lane % 2 == 1) right = right && __reduce_min_sync(odd, lane) == 1 && __reduce_add_sync(odd, 1u) == 16u;
#endif
  out[thread] = right;
})",
                                "k");
  if (!t.device) return;
  const auto out = upload(t, std::vector<int>(64, -1));
  run(t, artifact, {{1, 1, 1}, {64, 1, 1}}, arguments(out, 1.0f, 2.0));
  const std::vector<int> results = download<int>(*out);
  for (std::size_t i = 0; i < results.size(); ++i) CHECK_MESSAGE(results[i] == 1, "thread " << i);
}

CONFORMANCE_TEST("atomics of short numbers, and of signed long ones") {
  const auto artifact = compile(t, R"(
#include <cuda_bf16.h>
#include <cuda_fp16.h>
extern "C" __global__ void k(int* out) {
  __shared__ __align__(8) unsigned short halves[8];
  __shared__ __align__(8) long long longs[2];
  const int thread = threadIdx.x;
  if (thread < 8) halves[thread] = 0;
  if (thread < 2) longs[thread] = 0;
  __syncthreads();
  atomicMin(&longs[0], (long long)-thread);
  atomicMax(&longs[1], (long long)thread - 100);
  bool right = true;
#ifndef XTUNE_CUDA  // sm_70 and sm_80 on
  atomicAdd(reinterpret_cast<__half*>(&halves[1]), __float2half(0.5f));
  atomicAdd(reinterpret_cast<__half2*>(&halves[2]), __floats2half2_rn(1.0f, 2.0f));
  atomicAdd(reinterpret_cast<__nv_bfloat16*>(&halves[4]), __float2bfloat16(1.0f));
  atomicAdd(reinterpret_cast<__nv_bfloat162*>(&halves[6]), __floats2bfloat162_rn(1.0f, 2.0f));
  atomicCAS(&halves[5], static_cast<unsigned short>(thread), static_cast<unsigned short>(thread + 1));
  __syncthreads();
  right = __half2float(*reinterpret_cast<__half*>(&halves[1])) == 32 && halves[0] == 0;
  right = right && __high2float(*reinterpret_cast<__half2*>(&halves[2])) == 128 && halves[5] >= 1;
  right = right && __bfloat162float(*reinterpret_cast<__nv_bfloat16*>(&halves[4])) == 64;
  right = right && __low2float(*reinterpret_cast<__nv_bfloat162*>(&halves[6])) == 64;
#endif
  __syncthreads();
  out[thread] = right && longs[0] == -63 && longs[1] == 0;
})",
                                "k");
  if (!t.device) return;
  const auto out = upload(t, std::vector<int>(64, -1));
  run(t, artifact, {{1, 1, 1}, {64, 1, 1}}, arguments(out));
  const std::vector<int> results = download<int>(*out);
  for (std::size_t i = 0; i < results.size(); ++i) CHECK_MESSAGE(results[i] == 1, "thread " << i);
}

CONFORMANCE_TEST("tiles of several warps reduce and wait") {
  const auto artifact = compile(t, R"(
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
extern "C" __global__ void k(int* out) {
  const cg::thread_block block = cg::this_thread_block();
  const auto tile = cg::tiled_partition<64>(block);
  const auto large = cg::tiled_partition<128>(block);
  const int thread = block.thread_rank(), first = thread / 64 * 64;
  bool right = tile.size() == 64 && tile.meta_group_rank() == thread / 64 && tile.meta_group_size() == block.size() / 64;
  for (int round = 0; round < 3; ++round) {
    right = right && cg::reduce(tile, thread + round, cg::plus<int>()) == 64 * (first + round) + 2016;
    if (tile.meta_group_rank() == 1) right = right && cg::reduce(tile, (double)thread, cg::less<double>()) == 64;
    right = right && cg::reduce(large, thread, cg::greater<int>()) == thread / 128 * 128 + 127;
    tile.sync();
  }
  out[thread] = right;
})",
                                "k");
  if (!t.device) return;
  const auto out = upload(t, std::vector<int>(256, -1));
  run(t, artifact, {{1, 1, 1}, {256, 1, 1}}, arguments(out));
  const std::vector<int> results = download<int>(*out);
  for (std::size_t i = 0; i < results.size(); ++i) CHECK_MESSAGE(results[i] == 1, "thread " << i);
}
