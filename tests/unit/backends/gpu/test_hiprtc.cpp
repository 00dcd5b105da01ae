// Compiling for AMD GPUs without one, with hipRTC.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "backends/gpu/code_object.hpp"
#include "system/files.hpp"
#include "unit/backends/gpu/compile_cases.hpp"

using namespace xtune::system;
using namespace xtune::build;

#if XTUNE_HAS_HIP && !XTUNE_HIP_NVIDIA

using namespace xtune;
using namespace xtune::testing;

namespace {

/// One for all cases: hipRTC takes a while to start.
Toolchain* toolchain() {
  static const std::unique_ptr<Toolchain> shared = toolchain_or_null("hip");
  if (!shared) MESSAGE("skipped: hipRTC is not installed [apt: libamdhip64-dev]");
  return shared.get();
}

}  // namespace

TEST_CASE("hiprtc: a template for gfx90a and gfx1030, with its resources") {
  if (!toolchain()) return;
  for (const char* arch : {"gfx90a", "gfx1030"}) {
    CAPTURE(arch);
    const Artifact artifact = toolchain()->compile(request_for(arch, "busy<8>"));
    CHECK(artifact.arch == arch);
    CHECK(artifact.format == "hsaco");
    CHECK(artifact.entry_symbol == "_Z4busyILi8EEvPfPKfi");
    CHECK(artifact.image.substr(0, 4) ==
          "\x7f"
          "ELF");
    CHECK(artifact.usage.registers.value_or(0) > 8);
    CHECK(artifact.usage.scalar_registers.value_or(0) > 0);
    CHECK(artifact.usage.accumulator_registers.has_value() == (std::string(arch) == "gfx90a"));
    CHECK(artifact.usage.static_shared_bytes == 1024);
    CHECK(artifact.usage.spilled_bytes == 0);
    CHECK(artifact.usage.warp_size == (std::string(arch) == "gfx90a" ? 64 : 32));
    CHECK(artifact.usage.max_threads_per_block == 1024);
    const auto metadata = gpu::kernel_metadata(artifact.image, artifact.entry_symbol);
    REQUIRE(metadata);
    CHECK(metadata->parameter_bytes == std::vector<std::size_t>{8, 8, 4});
  }
}

TEST_CASE("hiprtc: a kernel of an unsigned parameter is named as in C++") {
  if (!toolchain()) return;
  CompileRequest request =
      request_for("gfx90a", "k<8>", "template <unsigned N> __global__ void k(float* x) { *x = N; }\n");
  CHECK(toolchain()->compile(request).entry_symbol == "_Z1kILj8EEvPf");
  request.entry = "k<missing>";
  CHECK(has(refusal_of(*toolchain(), request).message, "entry 'k<missing>' names no kernel of"));
}

TEST_CASE("hiprtc: spills and launch bounds") {
  if (!toolchain()) return;
  const std::string bounded =
      std::string(kernels) + "extern \"C\" __global__ __launch_bounds__(128) void bounded(float* a) { a[0] = 1; }\n";
  CHECK(toolchain()->compile(request_for("gfx90a", "bounded", bounded)).usage.max_threads_per_block == 128);
  const Artifact heavy = toolchain()->compile(request_for("gfx90a", "busy<200>", bounded));
  CHECK(heavy.usage.spilled_bytes.value_or(0) > 0);
  CHECK(toolchain()->compile(request_for("gfx90a", "plain", bounded)).usage.spilled_bytes == 0);
}

TEST_CASE("hiprtc: defines, whatever their names, do not reach its own headers") {
  if (!toolchain()) return;
  CompileRequest request = request_for("gfx1030", "k", R"(
#if XTUNE_HIP != 1 || defined(XTUNE_CUDA) || defined(XTUNE_HOST)
#error "the language is HIP C++"
#endif
extern "C" __global__ void k(V* out, const __half* in) { out[0] = __half2float(in[N]) + M * K; })");
  request.defines = {{"M", "4096"}, {"N", "32"}, {"K", "0x10"}, {"V", "unsigned int"}, {"T", "1"}, {"x", "y"}};
  CHECK(toolchain()->compile(request).entry_symbol == "k");
}

TEST_CASE("hiprtc: HIP's own cooperative groups may come before the source, as since 5.7") {
  if (!toolchain()) return;
  const CompileRequest request = request_for("gfx90a", "k", R"(
#ifndef HIP_INCLUDE_HIP_AMD_DETAIL_HIP_COOPERATIVE_GROUPS_H
#define HIP_INCLUDE_HIP_AMD_DETAIL_HIP_COOPERATIVE_GROUPS_H
namespace cooperative_groups { class thread_block; thread_block this_thread_block(); }
#endif
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
extern "C" __global__ void k(float* x) {
  const auto block = cg::this_thread_block();
  const auto tile = cg::tiled_partition<16>(block);
  x[block.thread_rank()] = cg::reduce(tile, x[0], cg::plus<float>());
})");
  CHECK(toolchain()->compile(request).entry_symbol == "k");
}

TEST_CASE("hiprtc: headers beside the source") {
  if (!toolchain()) return;
  const TemporaryDirectory folder;
  const auto spaced = folder.path() / "with space";
  std::filesystem::create_directory(spaced);
  std::ofstream(spaced / "part.cuh") << "#define VALUE 7\n";
  CompileRequest request =
      request_for("gfx90a", "k", "#include \"part.cuh\"\nextern \"C\" __global__ void k(int* out) { *out = VALUE; }");
  CHECK(has(refusal_of(*toolchain(), request).message, "part.cuh"));
  request.include_dirs = {spaced.string()};
  CHECK(toolchain()->compile(request).entry_symbol == "k");
}

TEST_CASE("hiprtc: what is wrong with a configuration, in the compiler's words") {
  if (!toolchain()) return;
  Refusal refusal = refusal_of(*toolchain(), request_for("gfx90a", "k", "// one\n__global__ void k() { nonsense; }"));
  CHECK(refusal.outcome == Outcome::compile_failed);
  CHECK(has(refusal.message, "folder/kernels.cu:2:"));
  CHECK(has(refusal.message, "nonsense"));
  CHECK(has(refusal.log, "nonsense"));

  refusal = refusal_of(*toolchain(), request_for("gfx90a", "nosuch<3>"));
  CHECK(refusal.outcome == Outcome::compile_failed);
  CHECK(has(refusal.message, "nosuch"));

  refusal = refusal_of(*toolchain(),
                       request_for("gfx90a", "k",
                                   "__global__ void k(float* a) { __shared__ float s[100000]; s[threadIdx.x] = *a; "
                                   "__syncthreads(); *a = s[5]; }"));
  CHECK(refusal.outcome == Outcome::compile_failed);
  CHECK(has(refusal.message, "400000"));
  CHECK(refusal_of(*toolchain(), request_for("gfx90a", "k", "#error \"said the source\"\n")).outcome ==
        Outcome::compile_failed);
}

TEST_CASE("hiprtc: an architecture it does not know is refused, not handed to it") {
  if (!toolchain()) return;
  for (const char* arch : {"sm_90", "", "gfx", "gfx9999", "gfx90a1", "native"}) {
    CAPTURE(arch);
    try {
      toolchain()->compile(request_for(arch, "plain"));
      FAIL("compiled");
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::unsupported);
    }
  }
}

TEST_CASE("hiprtc: target features may follow the architecture") {
  if (!toolchain()) return;
  CHECK(toolchain()->compile(request_for("gfx90a:xnack-", "plain")).arch == "gfx90a:xnack-");
}

TEST_CASE("hiprtc: the compiler lists the headers that it read, for any option that names their directory") {
  if (!toolchain()) return;
  const TemporaryDirectory folder;
  const std::string header = (folder.path() / "factor.h").string();
  std::ofstream(header) << "#define FACTOR 2\n";
  CompileRequest request =
      request_for("gfx90a", "k", "#include <factor.h>\nextern \"C\" __global__ void k(int* x) { *x = FACTOR; }\n");
  request.options = {"-iprefix", folder.path().string() + "/", "-iwithprefix", "."};
  // hipRTC 7.2 always preprocesses separately.
  for (const bool separately : {false, true}) {
    CAPTURE(separately);
    if (separately) request.options.emplace_back("-no-integrated-cpp");
    const Artifact artifact = toolchain()->compile(request);
    REQUIRE(artifact.files_read);
    REQUIRE(artifact.files_read->files.size() == 1);
    CHECK(std::filesystem::canonical(artifact.files_read->files.front()) == std::filesystem::canonical(header));
  }
}

TEST_CASE("hiprtc: the fingerprint names the compiler and its build") {
  if (!toolchain()) return;
  CHECK(toolchain()->fingerprint().starts_with("hiprtc "));
  CHECK(toolchain()->fingerprint() == toolchain()->fingerprint());
  CHECK(toolchain()->default_arch() == "gfx90a");
}

#endif
