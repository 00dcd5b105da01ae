// Compiling for NVIDIA GPUs without one: NVRTC through the cuda backend, and through HIP's NVIDIA side where that is
// built.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "backends/cuda/toolchain.hpp"
#include "system/files.hpp"
#include "unit/backends/gpu/compile_cases.hpp"

using namespace xtune::system;
using namespace xtune::build;

using namespace xtune;
using namespace xtune::testing;

namespace {

std::vector<const char*> nvidia_backends() {
  std::vector<const char*> names;
  if (XTUNE_HAS_CUDA) names.push_back("cuda");
#if XTUNE_HAS_HIP && XTUNE_HIP_NVIDIA
  names.push_back("hip");
#endif
  return names;
}

/// Runs the check for each backend that can compile here; reports it if none can.
template <class Check>
void for_each_toolchain(Check check) {
  bool any = false;
  for (const char* name : nvidia_backends()) {
    CAPTURE(name);
    if (auto toolchain = toolchain_or_null(name)) {
      check(*toolchain);
      any = true;
    }
  }
  if (!any) MESSAGE("skipped: no backend here compiles for NVIDIA GPUs (NVRTC is missing)");
}

/// The same, and for nvcc and clang, where they are installed and can use the CUDA toolkit.
template <class Check>
void for_each_compiler(Check check) {
  for_each_toolchain(check);
  for (const std::string compiler : {"nvcc", "clang"}) {
    CAPTURE(compiler);
    if (const auto toolchain = XTUNE_HAS_CUDA ? toolchain_or_null("cuda", compiler) : nullptr)
      check(*toolchain);
    else
      MESSAGE("skipped: " << compiler << " cannot compile for NVIDIA GPUs here");
  }
}

}  // namespace

#if XTUNE_HAS_CUDA
TEST_CASE("nvrtc: xtune's headers come before the C library's, where NVIDIA's are beside those") {
  if (!toolchain_or_null("cuda")) return;
  cuda::Dialect dialect;
  dialect.api = cuda::compiler_api(cuda::nvrtc());
  dialect.name = "nvrtc";
  dialect.include_dirs = {"/usr/include"};
  const auto toolchain = cuda::make_toolchain(cuda::nvrtc(), std::move(dialect));
  const std::string source =
      "#include <limits.h>\n#include <climits>\n#include <stdint.h>\n"
      "extern \"C\" __global__ void k(int* x) { *x = INT_MAX; }\n";
  CHECK(toolchain->compile(request_for("sm_80", "k", source)).entry_symbol == "k");
}
#endif

TEST_CASE("compilers for NVIDIA: a template for sm_80 and sm_90a, with its resources") {
  for_each_compiler([](Toolchain& toolchain) {
    for (const char* arch : {"sm_80", "sm_90a"}) {
      CAPTURE(arch);
      const Artifact artifact = toolchain.compile(request_for(arch, "busy<16>"));
      CHECK(artifact.arch == arch);
      CHECK(artifact.format == "cubin");
      CHECK(artifact.entry_symbol == "_Z4busyILi16EEvPfPKfi");
      CHECK(artifact.image.substr(0, 4) ==
            "\x7f"
            "ELF");
      CHECK(artifact.key.empty());
      CHECK(artifact.backend.empty());
      CHECK(artifact.compile_s > 0);
      CHECK(artifact.usage.registers.value_or(0) > 16);
      CHECK(artifact.usage.static_shared_bytes == 1024);
      CHECK(artifact.usage.spilled_bytes == 0);
      CHECK(artifact.usage.warp_size == 32);
      CHECK(artifact.usage.max_threads_per_block.value_or(0) >= 512);
    }
  });
}

TEST_CASE("compilers for NVIDIA: spills are reported only for the entry") {
  for_each_compiler([](Toolchain& toolchain) {
    CompileRequest request = request_for("sm_90", "busy<64>");
    const Artifact roomy = toolchain.compile(request);
    CHECK(roomy.usage.spilled_bytes == 0);
    CHECK(roomy.usage.max_threads_per_block.value_or(0) < 1024);
    request.options = {"-maxrregcount=32"};
    const Artifact tight = toolchain.compile(request);
    CHECK(tight.usage.registers == 32);
    CHECK(tight.usage.spilled_bytes.value_or(0) > 0);
    CHECK(tight.usage.max_threads_per_block == 1024);
    request.entry = "plain";
    const Artifact plain = toolchain.compile(request);
    CHECK(plain.entry_symbol == "plain");
    CHECK(plain.usage.spilled_bytes == 0);
    CHECK(plain.usage.static_shared_bytes == 0);
  });
}

TEST_CASE("compilers for NVIDIA: defines, whatever their names, also beside cuda_fp16.h") {
  for_each_compiler([](Toolchain& toolchain) {
    CompileRequest request = request_for("sm_90", "k", R"(
#if XTUNE_CUDA != 1 || defined(XTUNE_HIP) || defined(XTUNE_HOST)
#error "the language is CUDA C++"
#endif
#include <cuda_fp16.h>
extern "C" __global__ void k(V* out, const __half* in) { out[0] = __half2float(in[N]) + M * K; })");
    request.defines = {{"M", "4096"}, {"N", "32"}, {"K", "0x10"}, {"V", "unsigned int"}};
    CHECK(toolchain.compile(request).entry_symbol == "k");
  });
}

TEST_CASE("compilers for NVIDIA: headers beside the source") {
  for_each_compiler([](Toolchain& toolchain) {
    const TemporaryDirectory folder;
    const auto spaced = folder.path() / "with space";
    std::filesystem::create_directory(spaced);
    std::ofstream(spaced / "part.cuh") << "#define VALUE 7\n";
    CompileRequest request =
        request_for("sm_90", "k", "#include \"part.cuh\"\nextern \"C\" __global__ void k(int* out) { *out = VALUE; }");
    CHECK(has(refusal_of(toolchain, request).message, "part.cuh"));
    request.include_dirs = {spaced.string()};
    CHECK(toolchain.compile(request).entry_symbol == "k");
  });
}

TEST_CASE("nvrtc: what is wrong with a configuration, in the compiler's words") {
  for_each_toolchain([](Toolchain& toolchain) {
    Refusal refusal = refusal_of(toolchain, request_for("sm_90", "k", "// one\n__global__ void k() { nonsense; }"));
    CHECK(refusal.outcome == Outcome::compile_failed);
    CHECK(has(refusal.message, "folder/kernels.cu(2): error"));
    CHECK(has(refusal.message, "nonsense"));
    CHECK(has(refusal.log, "nonsense"));

    refusal = refusal_of(toolchain, request_for("sm_90", "nosuch<3>"));
    CHECK(refusal.outcome == Outcome::compile_failed);
    CHECK(has(refusal.message, "nosuch"));

    refusal = refusal_of(toolchain, request_for("sm_90", "k", "__global__ void k() { asm(\"bogus;\"); }"));
    CHECK(refusal.outcome == Outcome::compile_failed);
    CHECK(has(refusal.message, "bogus"));

    refusal = refusal_of(toolchain,
                         request_for("sm_90", "k",
                                     "__global__ void k(float* a) { __shared__ float s[100000]; s[threadIdx.x] = *a; "
                                     "__syncthreads(); *a = s[5]; }"));
    CHECK(refusal.outcome == Outcome::compile_failed);
    CHECK(has(refusal.message, "400000 bytes of static shared memory"));

    CompileRequest request = request_for("sm_90", "plain");
    request.options = {"--no-such-option"};
    refusal = refusal_of(toolchain, request);
    CHECK(refusal.outcome == Outcome::compile_failed);
    CHECK(has(refusal.message, "--no-such-option"));

    for (const char* source : {"", "\xff\xfe\x00", "#error \"said the source\"\n", "#include \"/dev/null\"\n"})
      CHECK(refusal_of(toolchain, request_for("sm_90", "k", source)).outcome == Outcome::compile_failed);
    CHECK(refusal_of(toolchain, request_for("sm_90", "")).outcome == Outcome::compile_failed);
  });
}

TEST_CASE("compilers for NVIDIA: an unknown architecture is the request's fault") {
  for_each_compiler([](Toolchain& toolchain) {
    for (const char* arch :
         {"gfx90a", "sm_9000", "sm_1", "sm_", "sm_90x", "sm_90aa", "compute_1", "compute_", "", "sm_90 -O"}) {
      CAPTURE(arch);
      try {
        toolchain.compile(request_for(arch, "plain"));
        FAIL("compiled");
      } catch (const Error& error) {
        CHECK(error.kind() == ErrorKind::unsupported);
      }
    }
  });
}

TEST_CASE("compilers for NVIDIA: a virtual architecture gives PTX") {
  for_each_compiler([](Toolchain& toolchain) {
    try {
      const Artifact ptx = toolchain.compile(request_for("compute_90", "plain"));
      CHECK(ptx.format == "ptx");
      CHECK(has(ptx.image, ".target sm_90"));
      CHECK(has(ptx.image, ptx.entry_symbol + "("));
      CHECK_FALSE(ptx.usage.registers);
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::unsupported);
      CHECK(has(error.what(), "does not give PTX"));
    }
  });
}

TEST_CASE("nvrtc: the fingerprint names the compiler and its build") {
  for_each_toolchain([](Toolchain& toolchain) {
    const std::string fingerprint = toolchain.fingerprint();
    CHECK(has(fingerprint, "nvrtc 1"));
    CHECK(fingerprint == toolchain.fingerprint());
    CHECK(toolchain.default_arch() == "sm_90");
  });
}

TEST_CASE("nvrtc: threads may compile at once") {
  for_each_toolchain([](Toolchain& toolchain) {
    std::array<std::string, 4> images;
    std::vector<std::thread> threads;
    for (auto& image : images)
      threads.emplace_back([&] { image = toolchain.compile(request_for("sm_80", "busy<8>")).entry_symbol; });
    for (auto& thread : threads) thread.join();
    for (const auto& image : images) CHECK(image == "_Z4busyILi8EEvPfPKfi");
  });
}

#if XTUNE_HAS_HIP && XTUNE_HIP_NVIDIA
TEST_CASE("hip on nvidia: options of hipRTC's clang are mapped") {
  if (auto toolchain = toolchain_or_null("hip")) {
    CompileRequest request = request_for("sm_90", "plain");
    request.options = {
        "-O3",      "-ffast-math",          "-mllvm",          "-amdgpu-early-inline-all=true", "-std=c++17",
        "-mcumode", "-Wno-unused-variable", "-maxrregcount=32"};
    CHECK(toolchain->compile(request).format == "cubin");
    request.options = {"--no-such-option"};
    CHECK(refusal_of(*toolchain, request).outcome == Outcome::compile_failed);
    CHECK(has(toolchain->fingerprint(), "hiprtc"));
  }
}
#endif

TEST_CASE("nvrtc: a parameter may have any name, also one that NVRTC's own headers use") {
  for_each_toolchain([](Toolchain& toolchain) {
    CompileRequest request =
        request_for("sm_90", "scale",
                    "#include <cuda_fp16.h>\n"
                    "#include <mma.h>  // names its template parameters T\n"
                    "extern \"C\" __global__ void scale(float* out) { out[threadIdx.x] = T + N; }\n");
    request.defines = {{"T", "4"}, {"N", "2"}};
    CHECK(toolchain.compile(request).entry_symbol == "scale");
    request.source += "extern \"C\" __global__ void other() { undeclared(); }\n";
    CHECK(has(refusal_of(toolchain, request).log, "kernels.cu(4)"));
    request.source.insert(0, "#include \"nowhere.h\"\n");
    CHECK(has(refusal_of(toolchain, request).log, "kernels.cu(5)"));
  });
}

TEST_CASE("nvrtc: names that nvcc has without an include, beside a source's own") {
  for_each_toolchain([](Toolchain& toolchain) {
    const auto compiles = [&](const std::string& source) {
      return toolchain.compile(request_for("sm_90", "k", source)).entry_symbol == "k";
    };
    CHECK(
        compiles("using namespace std;\n"
                 "extern \"C\" __global__ void k(float* x, uint n) {\n"
                 "  int64_t a = n;\n  uint8_t b = 1;\n  std::size_t c = std::min(1, 2);\n"
                 "  x[0] = INFINITY + NAN + HUGE_VALF + M_PI + std::sqrt(x[1]) + std::isnan(x[2]) + a + b + c;\n}\n"));
    CHECK(compiles("const float INFINITY = 3;\nextern \"C\" __global__ void k(float* x) { x[0] = INFINITY; }\n"));
    CHECK(compiles("typedef long int64_t;\nextern \"C\" __global__ void k(int64_t* x) { x[0] = 1; }\n"));
    CHECK(compiles(
        "#define M_PI 3.0f\n#define uint unsigned\nextern \"C\" __global__ void k(uint* x) { x[0] = M_PI; }\n"));
    const Refusal refusal = refusal_of(
        toolchain, request_for("sm_90", "k", "typedef long int64_t;\n__global__ void k(int64_t* x) { typo; }\n"));
    CHECK(has(refusal.log, "kernels.cu(2)"));
  });
}

TEST_CASE("nvrtc: headers of the CPU's side are harmless, and where they may appear is in the manifest") {
  for_each_toolchain([](Toolchain& toolchain) {
    const std::string kernel =
        "extern \"C\" __global__ void k(float* x, int n) { assert(n > 0); x[0] = std::max(n, 2); }\n";
    const Artifact plain = toolchain.compile(request_for(
        "sm_90", "k", "#include <cstdio>\n#include <stdlib.h>\n#include <cassert>\n#include <cstring>\n" + kernel));
    CHECK_FALSE(plain.files_read);
    const Artifact other = toolchain.compile(request_for(
        "sm_90", "k", "#include <iostream>\n#include <nowhere/of_the_host.h>\n#include \"cuda_nowhere.h\"\n" + kernel));
    CHECK(std::ranges::count(other.unread, "<nowhere/of_the_host.h>") == 1);
    if (other.files_read) CHECK(has(other.files_read->absent.back(), "/nowhere/of_the_host.h"));
  });
}

TEST_CASE("nvrtc: <cstdint> beside the headers of the CUDA toolkit, and what that cannot compile for a device") {
  for_each_toolchain([](Toolchain& toolchain) {
    const auto compiles = [&](const std::string& includes) {
      return toolchain
                 .compile(
                     request_for("sm_90", "k", includes + "extern \"C\" __global__ void k(int64_t* x) { *x = 1; }\n"))
                 .entry_symbol == "k";
    };
    if (refusal_of(
            toolchain,
            request_for("sm_90", "k", "#include <cuda/std/cstdint>\nextern \"C\" __global__ void k(__nv_bool* x) {}\n"))
            .message.find("read as empty") != std::string::npos) {
      MESSAGE("skipped: there is no libcu++");
      return;
    }
    CHECK(compiles(
        "#include <cstdint>\n#include <cooperative_groups.h>\n#include <cuda/std/cstdint>\n#include <cuda/barrier>\n"));
    CHECK(
        compiles("#include <cuda/std/cstdint>\n#include <cstdint>\n#include <type_traits>\n"
                 "static_assert(std::is_same<int64_t, cuda::std::int64_t>::value, \"\");\n"));
    CHECK(compiles("#include <cuda.h>\n#include <cuda_profiler_api.h>\n#include <cstdint>\n"));
  });
}
