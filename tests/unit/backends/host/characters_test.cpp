// A plain char has no sign where Arm's compilers decide: the headers for kernels follow the compiler.
#include <doctest/doctest.h>

#include "fakes/device_data.hpp"
#include "fakes/host_kernels.hpp"
#include "system/subprocess.hpp"

using namespace xtune;

TEST_CASE("An 8-bit float is clamped to the range of char, with and without a sign") {
  const fakes::HostKernels host;
  const auto clamped = [&](const std::string& option) {
    const build::Artifact artifact = host.compile_source(
        "#include <cuda_fp8.h>\nextern \"C\" __global__ void k(int* out) {\n"
        "out[0] = char(__nv_fp8_e4m3(192.0f)), out[1] = char(__nv_fp8_e4m3(-3.0f)); }\n",
        {option});
    const auto out = fakes::upload(*host.device, std::vector<int>(2));
    const std::vector<measure::KernelArgument> arguments = {out.get()};
    host.device->load(artifact, device::Launch{{1, 1, 1}, {1, 1, 1}})->run({arguments, true, 0});
    return fakes::download<int>(*out);
  };
  CHECK(clamped("-fsigned-char") == std::vector<int>{127, -3});
  CHECK(clamped("-funsigned-char") == std::vector<int>{192, 0});
}

TEST_CASE("The limits of char for compilers without a C library, with and without a sign") {
  system::CommandOptions source;
  source.stdin_text =
      "#include <limits.h>\n#include <xtune_limits.h>\n"
      "using Limits = std::numeric_limits<char>;\n"
      "static_assert(Limits::min() == CHAR_MIN && Limits::max() == CHAR_MAX);\n"
      "static_assert(Limits::digits == (char(-1) < 0 ? 7 : 8) && (char(-1) < 0) == (CHAR_MIN < 0));\n";
  for (const char* option : {"-fsigned-char", "-funsigned-char"}) {
    CAPTURE(option);
    const auto compiled =
        system::run_command({"g++", "-std=c++17", "-x", "c++", "-fsyntax-only", option,
                             "-D__host__=", "-D__device__=", "-I" XTUNE_SOURCE_DIR "/runtime/standins/library", "-"},
                            source);
    CHECK_MESSAGE(compiled.ok(), compiled.stderr_text);
  }
}
