// Compiling for NVIDIA GPUs with nvcc and clang, and what they have ahead of NVRTC: whole programs.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "core/build/compile_hint.hpp"
#include "core/build/keyed_files.hpp"
#include "core/build/keys.hpp"
#include "fakes/environment_variable.hpp"
#include "system/files.hpp"
#include "unit/backends/gpu/compile_cases.hpp"

#if XTUNE_HAS_CUDA

#include "backends/cuda/toolchain.hpp"

using namespace xtune;
using namespace xtune::system;
using namespace xtune::build;
using namespace xtune::testing;

namespace {

namespace fs = std::filesystem;

template <class Check>
void for_each_external(Check check, const std::vector<const char*>& compilers = {"nvcc", "clang"}) {
  for (const std::string compiler : compilers) {
    CAPTURE(compiler);
    if (const auto toolchain = toolchain_or_null("cuda", compiler))
      check(*toolchain);
    else
      MESSAGE("skipped: " << compiler << " cannot compile for NVIDIA GPUs here");
  }
}

/// A whole program, with host code, a launch and headers of the host, of which one is nowhere.
const char* const program = R"(#include <cstdio>
#include <vector>
#include <mpi_of_nowhere.h>
namespace {
__constant__ float table[4];
template <int B, class T>
__global__ void scale(T* x, int n) {
  int i = blockIdx.x * B + threadIdx.x;
  if (i < n) x[i] = x[i] * T(2) + table[n & 3];
}
}  // namespace
template <int B>
__global__ void other(float* x) { x[0] = B; }
int main() {
  std::vector<float> values(4);
  scale<32, float><<<1, 32>>>(values.data(), 4);
  std::printf("%zu\n", values.size());
}
)";

}  // namespace

TEST_CASE("nvcc and clang: a whole program, with entries and variables by name") {
  for_each_external([](Toolchain& toolchain) {
    CompileRequest request = request_for("sm_90", "scale<64, double>", program);
    request.more_entries = {"other<7>"};
    request.variables = {"table"};
    const Artifact artifact = toolchain.compile(request);
    REQUIRE(artifact.entries.size() == 2);
    CHECK(has(artifact.entries[0].symbol, "scaleILi64EdEEvPT0_i"));
    CHECK(artifact.entries[1].symbol == "_Z5otherILi7EEvPf");
    REQUIRE(artifact.variables.size() == 1);
    CHECK(has(artifact.variables[0], "table"));
    for (const std::string& name : {artifact.entries[0].symbol, artifact.variables[0]})
      CHECK(has(artifact.image, name));
    CHECK_FALSE(has(artifact.image, "xtune_name"));
    CHECK(artifact.unread == std::vector<std::string>{"<mpi_of_nowhere.h>"});
    CHECK(artifact.image == toolchain.compile(request).image);
  });
}

TEST_CASE("nvcc and clang: the pointers that show names leave the kernel's code as it is") {
  for_each_external([](Toolchain& toolchain) {
    const Artifact artifact = toolchain.compile(request_for("sm_90", "plain"));
    CHECK(artifact.usage.registers.value_or(99) < 16);  // 24 with the ABI of functions whose address is taken
  });
}

TEST_CASE("nvcc and clang: what is wrong, with the user's lines") {
  for_each_external([](Toolchain& toolchain) {
    Refusal refusal = refusal_of(toolchain, request_for("sm_90", "k", "// one\n__global__ void k() { nonsense; }"));
    CHECK(refusal.outcome == Outcome::compile_failed);
    CHECK(has(refusal.message, "folder/kernels.cu"));
    CHECK((has(refusal.message, "(2): error") || has(refusal.message, ":2:")));
    CHECK(has(refusal.message, "nonsense"));
    refusal = refusal_of(toolchain, request_for("sm_90", "nosuch<3>"));
    CHECK(has(refusal.message, "entry 'nosuch<3>' names no kernel of folder/kernels.cu"));
    CompileRequest request = request_for("sm_90", "plain");
    request.variables = {"missing"};
    CHECK(has(refusal_of(toolchain, request).message, "constant 'missing' names no variable"));
    CHECK(has(refusal_of(toolchain, request_for("sm_90", "k", "__global__ void k() { asm(\"bogus;\"); }")).message,
              "bogus"));
    request = request_for("sm_90", "plain");
    request.options = {"--no-such-option"};
    refusal = refusal_of(toolchain, request);
    CHECK(refusal.outcome == Outcome::compile_failed);
    CHECK(has(refusal.message, "no-such-option"));
  });
}

TEST_CASE("nvcc and clang: the options that NVRTC has, too") {
  for_each_external([](Toolchain& toolchain) {
    CompileRequest request = request_for(
        "sm_90", "k", "extern \"C\" __global__ void k(float* x) { x[0] = __expf(x[1]) + sinf(x[2]) / x[3]; }\n");
    const std::string plain = toolchain.compile(request).image;
    request.options = {"-std=c++17", "--use_fast_math",          "-lineinfo",        "--maxrregcount=40", "-Xptxas",
                       "-dlcm=cg",   "--expt-relaxed-constexpr", "--extended-lambda"};
    CHECK(toolchain.compile(request).image != plain);
  });
}

TEST_CASE("Options and files of controls reach ptxas from each compiler") {
  const TemporaryDirectory folder;
  const std::string controls = (folder.path() / "of one, kernel.acf").string();
  std::ofstream(controls) << "no controls";
  const auto check = [&](Toolchain& toolchain) {
    CompileRequest request = request_for("sm_90", "busy<64>");
    const auto registers = [&](const std::string& level, const std::string& limit) {
      request.options = {"--ptxas-options=-O" + level, "--maxrregcount=" + limit};
      return toolchain.compile(request).usage.registers.value_or(0);
    };
    const int plain = registers("3", "255");
    CHECK(plain > 64);
    CHECK(registers("3", "40") == 40);
    CHECK(registers("0", "255") != plain);
    // ptxas: "Input file '...' not in expected format", "Invalid compiler controls file"; 11.8: "Unknown option".
    request.options = {build::controls_option + controls};
    const Refusal refusal = refusal_of(toolchain, request);
    CHECK(refusal.outcome == Outcome::compile_failed);
    CHECK(has(refusal.log, "ptxas fatal"));
    CHECK_FALSE(has(refusal.log, "could not be opened"));
    CHECK(has(refusal.message, "file of controls"));
  };
  for_each_external(check, {"nvrtc", "nvcc", "clang"});
}

TEST_CASE("nvcc and clang: the user's headers are listed, those of the toolkit and the system are not") {
  for_each_external([](Toolchain& toolchain) {
    const TemporaryDirectory folder;
    std::ofstream(folder.path() / "own.cuh") << "#define VALUE 7\n";
    CompileRequest request = request_for("sm_90", "k",
                                         "#include <vector>\n#include <cuda_fp16.h>\n#include \"own.cuh\"\n"
                                         "extern \"C\" __global__ void k(int* x) { *x = VALUE; }\n");
    request.include_dirs = {folder.path().string()};
    const Artifact artifact = toolchain.compile(request);
    REQUIRE(artifact.files_read);
    CHECK(artifact.files_read->files == std::vector<std::string>{(folder.path() / "own.cuh").string()});
    for (const std::string& path : artifact.files_read->absent) CHECK_FALSE(has(path, "/portable/"));
  });
}

TEST_CASE("nvcc and clang: the fingerprint names the compiler, and its parts are known") {
  for_each_external([](Toolchain& toolchain) {
    const std::string fingerprint = toolchain.fingerprint();
    CHECK((fingerprint.starts_with("nvcc 1") || fingerprint.starts_with("clang ")));
    CHECK(fingerprint == toolchain.fingerprint());
    CHECK(toolchain.default_arch() == "sm_90");
    CHECK_FALSE(toolchain.archs().empty());
    std::string names;
    for (const KeyedFile& file : toolchain.parts().files.files) names += fs::path(file.path).filename().string() + " ";
    CHECK(has(names, "ptxas "));
    CHECK(has(names, "libdevice.10.bc "));
    if (fingerprint.starts_with("nvcc")) CHECK(has(names, "cicc "));
  });
}

TEST_CASE("nvcc and clang: what is missing is said in plain words") {
  const TemporaryDirectory folder;
  const Variable home("CUDA_HOME", ""), other("CUDA_PATH", ""), path("PATH", folder.path().string());
  const auto message = [](auto make) -> std::string {
    try {
      make();
      return {};
    } catch (const Error& error) {
      return error.what();
    }
  };
  CHECK(has(message(cuda::make_clang_toolchain), "no clang 17 or newer was found in PATH"));
  if (fs::exists("/usr/local/cuda/bin/nvcc")) return;
  CHECK(has(message(cuda::make_nvcc_toolchain), "nvcc was not found in CUDA_HOME"));
}

#endif
