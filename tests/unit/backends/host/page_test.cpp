// Every row of the table in docs/host-backend.md is true: the feature runs, or the message is the one that the row
// names.
#include <doctest/doctest.h>

#include <filesystem>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "backends/backend.hpp"
#include "system/files.hpp"

using namespace xtune;
using namespace xtune::build;

namespace {

/// Feature to result, as the page has them.
std::vector<std::pair<std::string, std::string>> rows_of_page() {
  std::istringstream page(system::read_file(XTUNE_SOURCE_DIR "/docs/host-backend.md"));
  std::vector<std::pair<std::string, std::string>> rows;
  for (std::string line; std::getline(page, line);) {
    const std::size_t middle = line.find(" | ");
    if (!line.starts_with("| ") || middle == line.npos || line.starts_with("| ---") || line.starts_with("| Feature "))
      continue;
    rows.emplace_back(line.substr(2, middle - 2), line.substr(middle + 3, line.size() - middle - 5));
  }
  return rows;
}

/// Bodies of functions that 64 threads of a block call with their number t; what the first one returns is 1.
const std::map<std::string, std::string>& running() {
  static const std::map<std::string, std::string> bodies{
      {"`__shared__` arrays", "__shared__ int s[64]; s[t] = t; __syncthreads(); return s[63 - t] == 63 - t;"},
      {"dynamic shared memory (`extern __shared__`)",
       "extern __shared__ int dynamic[]; dynamic[t] = t; __syncthreads(); return dynamic[63 - t] == 63 - t;"},
      {"`__syncthreads`, `__syncthreads_count`, `_and`, `_or`",
       "int n = __syncthreads_count(t < 5); return n == 5 && !__syncthreads_and(t < 5) && __syncthreads_or(t < 5);"},
      {"`__syncwarp`, `__activemask`", "__syncwarp(); return __activemask() == 0xffffffffu;"},
      {"`__shfl_sync`, `__shfl_up_sync`, `__shfl_down_sync`, `__shfl_xor_sync`",
       "unsigned all = 0xffffffffu; int a = __shfl_sync(all, t, 3), b = __shfl_up_sync(all, t, 1), c = "
       "__shfl_down_sync(all, t, 2), d = __shfl_xor_sync(all, t, 4); return a == 3 && b == 0 && c == 2 && d == 4;"},
      {"`__ballot_sync`, `__any_sync`, `__all_sync`",
       "unsigned all = 0xffffffffu; unsigned b = __ballot_sync(all, t % 2); int any = __any_sync(all, t == 9), every = "
       "__all_sync(all, t == 9); return b == 0xaaaaaaaau && any && !every;"},
      {"`atomicAdd`, `Sub`, `Min`, `Max`, `And`, `Or`, `Xor`, `Exch`, `CAS`, `Inc`, `Dec`",
       "__shared__ unsigned u[11]; if (t < 11) u[t] = t == 4 ? 0xffu : 64; __syncthreads(); atomicAdd(&u[0], 1u); "
       "atomicSub(&u[1], 1u); atomicMin(&u[2], (unsigned)t); atomicMax(&u[3], 65u + t); atomicAnd(&u[4], ~(1u << (t % "
       "4))); atomicOr(&u[5], 1u << (t % 4)); atomicXor(&u[6], 1u); atomicExch(&u[7], 5u); atomicCAS(&u[8], 64u, 7u); "
       "atomicInc(&u[9], 1000u); atomicDec(&u[10], 1000u); __syncthreads(); return u[0] == 128 && u[1] == 0 && u[2] == "
       "0 && u[3] == 128 && u[4] == 0xf0u && u[5] == 79 && u[6] == 64 && u[7] == 5 && u[8] == 7 && u[9] == 128 && "
       "u[10] == 0;"},
      {"`__threadfence`", "__threadfence(); __threadfence_block(); return 1;"},
      {"`__constant__` arrays", "return constants[2] == 3;"},
      {"`__launch_bounds__`, `__restrict__`, `__forceinline__`",
       "const int* __restrict__ p = &t; return inlined(*p) == 1;"},
      {"`float4` and other vector types, `make_float4`",
       "float4 f = make_float4(1, 2, 3, 4); int2 i = make_int2(5, 6); return f.w == 4 && i.y == 6;"},
      {"`__half`, `__half2` (`cuda_fp16.h`)",
       "__half2 h = __floats2half2_rn(2, 3); h = __hfma2(h, h, h); return __low2float(h) == 6 && "
       "__half2float(__float2half(0.5f)) == 0.5f;"},
      {"`__nv_bfloat16` (`cuda_bf16.h`)",
       "__nv_bfloat16 b = __float2bfloat16(1.5f); return __bfloat162float(b) == 1.5f;"},
      {"`__nv_fp8_e4m3`, `__nv_fp8_e5m2` (`cuda_fp8.h`)",
       "__nv_fp8_e4m3 a(1.5f); __nv_fp8x2_e5m2 b(make_float2(2, 1e9f)); return (float)a == 1.5f && "
       "((float2)b).y == 57344.0f;"},
      {"`<xtune/narrow.cuh>`",
       "xtune::f8e4m3 a = 500.0f; xtune::bf16 b = 1.5f; return a == 448.0f && b == 1.5f && xtune::dot4(0x01020304, "
       "0x01010101, 1) == 11;"},
      {"`<xtune/hopper.cuh>`: mbarriers, TMA, `wgmma`, `mma`, clusters, named barriers",
       "using namespace xtune::hopper; __shared__ Barrier b; if (t == 0) init(b, 64); __syncthreads(); arrive(b); "
       "wait(b, 0); sync_named(1, 64); cluster_sync(); const unsigned one = 0x3c003c00u, x[4] = {one, one, one, one}; "
       "float sums[4] = {}; warp_product<Type::f16>(sums, x, one, one); return cluster_size() == 1 && cluster_rank() "
       "== 0 "
       "&& sums[3] == 16;"},
      {"`__popc`, `__clz`, `__ffs`, `__brev`",
       "return __popc(7) == 3 && __clz(1) == 31 && __ffs(4) == 3 && __brev(1u) == 1u << 31;"},
      {"`__expf`, `__fdividef`, `rsqrtf`, `__sinf`",
       "return __expf(0.f) == 1 && __fdividef(6.f, 3.f) == 2 && rsqrtf(4.f) == 0.5f && __sinf(0.f) == 0;"},
      {"`normcdff`, `rcbrtf`, `rhypotf`, `norm3df`, `norm4df`, `sincospif` and their kin, also for `double`",
       "const auto near = [](double value, double expected) { return std::fabs(value - expected) < 1e-6 * expected; }; "
       "const float f[4] = {1, 2, 4, 10}; const double d[4] = {1, 2, 4, 10}; float s, c; sincospif(0.25f, &s, &c); "
       "double ds, dc; sincospi(0.25, &ds, &dc); return normcdff(0.0f) == 0.5f && near(normcdff(-5.0f), 2.866516e-7) "
       "&& "
       "near(normcdf(-30.0), 4.906714e-198) && normcdf(INFINITY) == 1 && near(rcbrtf(8.0f), 0.5) && near(rcbrt(27.0), "
       "1 "
       "/ 3.0) && near(rhypotf(3, 4), 0.2) && near(rhypot(3.0, 4.0), 0.2) && near(norm3df(1, 2, 2), 3) && "
       "near(norm3d(1, "
       "2, 2), 3) && near(norm4df(1, 2, 4, 10), 11) && near(norm4d(1, 2, 4, 10), 11) && near(rnorm3df(1, 2, 2), 1 / "
       "3.0) "
       "&& near(rnorm4d(1, 2, 4, 10), 1 / 11.0) && near(normf(4, f), 11) && near(rnorm(4, d), 1 / 11.0) && near(s, c) "
       "&& "
       "near(ds, M_SQRT1_2) && near(dc, M_SQRT1_2) && near(sinpi(0.5), 1) && near(cospi(2.0), 1);"},
      {"`clock`, `clock64`: ticks of the CPU",
       "const long start = clock(); const long long before = clock64(); while (clock() - start < 1000) {} const long "
       "long "
       "passed = clock64() - before; return passed >= 900 && passed < 1ll << 40;"},
      {"`__ldg`", "return __ldg(&constants[1]) == 2;"},
      {"asynchronous copies (`cuda_pipeline.h`)",
       "__shared__ alignas(16) int copied[256]; __shared__ alignas(16) int from[256]; for (int i = 0; i < 4; ++i) "
       "from[4 "
       "* t + i] = t; __pipeline_memcpy_async(&copied[4 * t], &from[4 * t], 16); __pipeline_commit(); "
       "__pipeline_wait_prior(0); __syncthreads(); return copied[255 - t] == (255 - t) / 4;"},
      {"`printf` and `assert`", "assert(t < 64); if (t > 64) printf(\"never\"); return 1;"},
      {"`<cstdint>`, `<limits>`, `<cmath>` and other headers of C++",
       "std::uint16_t u = 65535; return std::numeric_limits<std::uint16_t>::max() == u && std::fabs(-1.0f) == 1;"},
      {"`cooperative_groups.h`: grids, blocks, and parts of a warp",
       "auto grid = cooperative_groups::this_grid(); if (grid.thread_rank() != blockIdx.x * 64 + t || "
       "grid.num_blocks() "
       "!= gridDim.x) return 0; auto four = "
       "cooperative_groups::tiled_partition<4>(cooperative_groups::this_thread_block()); return "
       "four.shfl(t, 1) == 1 && cooperative_groups::reduce(four, t, cooperative_groups::plus<int>()) == 6;"},
      {"lambdas and templates",
       "auto twice = [](auto v) { return v + v; }; return twice(1) == 2 && plus<3>(t) == t + 3;"},
      {"`<xtune/portable.cuh>`",
       "int up = xtune::shuffle_up(t, 1), down = xtune::shuffle_down(t, 1), x = xtune::shuffle_xor(t, 1), at = "
       "xtune::shuffle(t, 7); unsigned votes = xtune::ballot(t == 1); xtune::sync_lanes(); return up == 0 && down == 1 "
       "&& "
       "x == 1 && at == 7 && votes == 2 && xtune::ceil_div(5, 2) == 3 && !XTUNE_ON_AMD && !XTUNE_ON_NVIDIA;"}};
  return bodies;
}

/// Sources that fail.
const std::map<std::string, std::string>& refused() {
  const auto kernel = [](const std::string& before, const std::string& body = "", const std::string& behind = "") {
    return before + "\nextern \"C\" __global__ void k(int* out) { " + body + " }\n" + behind;
  };
  static const std::map<std::string, std::string> sources{
      {"other cooperative groups",
       kernel("#include <cooperative_groups.h>", "cooperative_groups::coalesced_threads().sync();")},
      {"`cub/...`", kernel("#include <cub/block/block_reduce.cuh>", "cub::BlockReduce<int, 64> sum;")},
      {"`thrust/...`", kernel("#include <thrust/device_vector.h>", "thrust::plus<int> plus;")},
      {"`mma.h`", kernel("#include <mma.h>", "nvcuda::wmma::mem_row_major;")},
      {"`cuda/std/...`, `cuda/barrier` and other headers of libcu++",
       kernel("#include <cuda/barrier>", "cuda::barrier<cuda::thread_scope_block>* barrier;")},
      {"`curand_kernel.h`", kernel("#include <curand_kernel.h>", "curandState state;")},
      {"inline PTX (`asm`)",
       kernel("", "unsigned r; asm volatile(\"mov.u32 %0, %%laneid;\" : \"=r\"(r)); out[0] = r;")},
      {"textures (`cudaTextureObject_t`)", "extern \"C\" __global__ void k(int* out, cudaTextureObject_t t) {}\n"},
      {"`erfinvf`, `erfcinvf`, `erfcxf`, `normcdfinvf`, `cyl_bessel_i0f`, `cyl_bessel_i1f`",
       kernel("", "out[0] = erfinvf(0.5f) + erfcinvf(0.5f);")},
      {"surfaces (`cudaSurfaceObject_t`)", "extern \"C\" __global__ void k(int* out, cudaSurfaceObject_t t) {}\n"}};
  return sources;
}

struct HostPage {
  std::unique_ptr<backend::Backend> backend = backend::make_backend("host");
  std::unique_ptr<Toolchain> toolchain = backend->open_toolchain();

  Artifact compile(const std::string& source) const {
    CompileRequest request;
    request.source_name = "kernel.cu";
    request.entry = "k";
    request.source = source;
    request.arch = toolchain->default_arch();
    return toolchain->compile(request);
  }
  /// What each body returned.
  std::vector<int> run(const std::vector<std::string>& bodies) const {
    std::string source =
        "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n#include <cuda_fp8.h>\n#include <cuda_pipeline.h>\n#include "
        "<cooperative_groups.h>\n#include <cooperative_groups/reduce.h>\n#include <cstdint>\n#include "
        "<limits>\n#include <cmath>\n#include <xtune/hopper.cuh>\n#include <xtune/narrow.cuh>\n#include "
        "<xtune/portable.cuh>\n__constant__ int constants[3] = {1, 2, 3};\n"
        "__device__ __forceinline__ int inlined(int t) { return t == 0; }\ntemplate <int N> __device__ int plus(int t) "
        "{ "
        "return t + N; }\n";
    std::string cases;
    for (std::size_t i = 0; i < bodies.size(); ++i) {
      const std::string number = std::to_string(i);
      source += "__device__ int row" + number + "(int t) { " + bodies[i] + " }\n";
      cases += "case " + number + ": result = row" + number + "(t); break;\n";
    }
    const unsigned count = static_cast<unsigned>(bodies.size());
    source +=
        "extern \"C\" __global__ void __launch_bounds__(64) k(int* out) { const int t = threadIdx.x; int result = 0; "
        "switch (blockIdx.x) { " +
        cases + "} if (t == 0) out[blockIdx.x] = result; }\n";
    const auto device = backend->open_device(0);
    std::vector<int> out(count, -1);
    const auto to = device->allocate(out.size() * sizeof(int));
    const std::vector<measure::KernelArgument> arguments = {to.get()};
    device->load(compile(source), device::Launch{{count, 1, 1}, {64, 1, 1}, {0, 0, 0}, 256})->run({arguments, true, 0});
    to->read(0, std::as_writable_bytes(std::span(out)));
    return out;
  }
};

/// Whether every compiler finds the feature's header, as packages of CUDA may install it. Errors then come from
/// within.
bool is_installed_for_all(const std::string& feature) {
  static const std::map<std::string, std::string> headers{
      {"`mma.h`", "mma.h"}, {"`cuda/std/...`, `cuda/barrier` and other headers of libcu++", "cuda/barrier"}};
  const auto header = headers.find(feature);
  if (header == headers.end()) return false;
  return std::filesystem::exists("/usr/include/" + header->second) ||
         std::filesystem::exists("/usr/local/include/" + header->second);
}

}  // namespace

TEST_CASE("what docs/host-backend.md says runs, runs, and the rest is refused with the message that it names") {
  const HostPage host;
  std::vector<std::string> features, bodies;
  std::size_t refusals = 0;
  for (const auto& [feature, result] : rows_of_page()) {
    CAPTURE(feature);
    if (result == "runs") {
      REQUIRE(running().contains(feature));
      features.push_back(feature);
      bodies.push_back(running().at(feature));
      continue;
    }
    REQUIRE(refused().contains(feature));
    ++refusals;
    if (is_installed_for_all(feature)) continue;
    std::string message = "it compiled";
    try {
      host.compile(refused().at(feature));
    } catch (const CandidateFailure& failure) {
      CHECK(failure.outcome() == Outcome::compile_failed);
      message = failure.what();
    }
    CAPTURE(message);
    CHECK(message.find("(hint: " + result) != std::string::npos);
  }
  CHECK(bodies.size() == running().size());
  CHECK(refusals == refused().size());
  const std::vector<int> results = host.run(bodies);
  for (std::size_t i = 0; i < results.size(); ++i) {
    CAPTURE(features[i]);
    CHECK(results[i] == 1);
  }
}
