// xtune show: the code, the resources and the profiler's command line of one configuration.
#include <doctest/doctest.h>

#include <cstdlib>

#include "cli/cli.hpp"
#include "support/emulated_gpu.hpp"
#include "system/shell_words.hpp"

using namespace xtune::system;

using namespace xtune;
using namespace xtune::cli_test;

namespace {

/// A kernel with a macro that is compiled in.
std::string scale_spec(const Cli& cli) {
  cli.write("scale.cu",
            "extern \"C\" __global__ void scale(float* x, int n) {\n"
            "  const int i = blockIdx.x * BLOCK + threadIdx.x;\n  if (i < n) x[i] = 2 * i;\n}\n");
  return cli.write("scale.toml",
                   "[kernel]\nname = \"scale\"\nsource = \"scale.cu\"\n[problem]\nN = 256\n"
                   "[space.params]\nBLOCK = [32, 64]\nUNROLL = [1, 2]\n"
                   "[launch]\ngrid = [\"ceildiv(N, BLOCK)\"]\nblock = [\"BLOCK\"]\n"
                   "[[args]]\nname = \"x\"\ndtype = \"f32\"\nshape = [\"N\"]\nrole = \"out\"\n"
                   "[[args]]\nname = \"n\"\nkind = \"scalar\"\ndtype = \"i32\"\nvalue = \"N\"\n"
                   "[measure]\nrep = 3\nmin_rep = 3\nwarmup = 1\nrace = false\nfinals = 0\n");
}

}  // namespace

TEST_CASE("a named configuration: macros before the source, launch and resources behind it") {
  const Cli cli;
  const std::string spec = scale_spec(cli);
  const CommandResult shown = cli.xtune({"show", spec, "--backend", "host", "--config", "BLOCK=64,UNROLL=2"});
  CHECK(shown.exit_code == 0);
  const std::string& text = shown.stdout_text;
  CHECK(text.find("#define BLOCK 64\n#define UNROLL 2\nextern \"C\" __global__ void scale") == 0);
  CHECK(has(text, "config:     BLOCK=64 UNROLL=2\n"));
  CHECK(has(text, "launch:     grid 4, block 64, 0 bytes of dynamic shared memory\n"));
  const json answer = parsed(
      cli.xtune({"show", spec, "--backend", "host", "-D", "BLOCK=32", "--filter", "UNROLL == 1", "--format", "json"}));
  CHECK(answer["config"] == json{{"BLOCK", 32}, {"UNROLL", 1}});
  CHECK(answer["macros"] == json{{"BLOCK", "32"}, {"UNROLL", "1"}});
  CHECK(answer["launch"]["grid"] == json{8, 1, 1});
  CHECK(answer["best"].is_null());
  CHECK(has(answer["source"], "__global__ void scale"));
  CHECK_FALSE(parsed(cli.xtune({"show", spec, "--backend", "host", "--config", "BLOCK=64,UNROLL=2", "--no-source",
                                "--format", "json"}))
                  .contains("source"));
}

TEST_CASE("without a name the store's best is shown") {
  const Cli cli;
  const std::string spec = scale_spec(cli);
  const CommandResult none = cli.xtune({"show", spec, "--backend", "host"});
  CHECK(none.exit_code == 3);
  CHECK(has(none.stderr_text, "the store has no configuration for this problem"));
  const json run = parsed(cli.run(spec, {"--quiet"}));
  const json answer = parsed(cli.xtune({"show", spec, "--backend", "host", "--best", "--format", "json"}));
  CHECK(answer["match"] == "exact");
  CHECK(answer["config"] == run["best"]["config"]);
  CHECK(answer["best"]["time_ms"] == run["best"]["time_ms"]);
}

TEST_CASE("the profiled command runs exactly this configuration and keeps nothing") {
  const Cli cli;
  const std::string spec = scale_spec(cli);
  const json shown = parsed(cli.xtune(
      {"show", spec, "--backend", "host", "--config", "BLOCK=64,UNROLL=2", "--no-source", "--format", "json"}));
  const std::string line = shown["profile"];
  CHECK(line.find("env XTUNE_DISABLE_CACHE=1 perf record ") == 0);
  std::vector<std::string> words = system::shell_words(line.substr(line.find("-- ") + 3));
  REQUIRE(words.at(0) == "xtune");
  words[0] = XTUNE_PROGRAM;
  words.insert(words.begin(), {"env", "XTUNE_DISABLE_CACHE=1"});
  words.insert(words.end(), {"--format", "json"});
  const json run = parsed(cli.command(words));
  CHECK(run["counts"] == json{{"ok", 1}});
  CHECK(run["best"]["config"] == json{{"BLOCK", 64}, {"UNROLL", 2}});
  CHECK(cli.stored_records() == 0);
}

TEST_CASE("instructions come from a disassembler") {
  Cli cli;
  const std::string spec = scale_spec(cli);
  // What this objdump prints stands for the instructions.
  fs::create_directories(cli.path("bin"));
  cli.write("bin/objdump", "#!/bin/sh\nfor last; do :; done\ntest -s \"$last\" && printf '1000:\\tadd %%rax\\n'\n");
  fs::permissions(cli.path("bin/objdump"), fs::perms::owner_all);
  cli.env.emplace_back("PATH", cli.path("bin") + ":" + std::getenv("PATH"));
  const std::vector<std::string> words{"show", spec, "--backend", "host", "--config", "BLOCK=64,UNROLL=2", "--isa"};
  const CommandResult isa = cli.xtune(words);
  CHECK(isa.exit_code == 0);
  CHECK(isa.stdout_text.find("1000:\tadd %rax\n") == 0);
  CHECK_FALSE(has(isa.stdout_text, "__global__"));
  cli.write("bin/objdump", "#!/bin/sh\necho broken >&2\nexit 1\n");
  const CommandResult broken = cli.xtune(words);
  CHECK(broken.exit_code == 4);
  CHECK(has(broken.stderr_text, "cannot be read (objdump: broken"));
}

TEST_CASE("instructions of AMD GPUs come from the emulator's library, which opens LLVM") {
  if (!xtune::testing::can_emulate_gpus()) return;
  Cli cli;
  const std::vector<std::string> words{"show",     scale_spec(cli),     "--arch", "gfx942", "--compiler", "clang",
                                       "--config", "BLOCK=64,UNROLL=2", "--isa"};
  fs::create_directories(cli.path("bin"));
  cli.write("bin/llvm-objdump", "#!/bin/sh\nexit 1\n");
  fs::permissions(cli.path("bin/llvm-objdump"), fs::perms::owner_all);
  cli.env.emplace_back("PATH", cli.path("bin") + ":" + std::getenv("PATH"));
  const CommandResult isa = cli.xtune(words);
  CHECK_MESSAGE(isa.exit_code == 0, isa.stderr_text);
  CHECK_MESSAGE(isa.stdout_text.find("scale:\n     0:\t") == 0, isa.stdout_text);
  CHECK(has(isa.stdout_text, ":\ts_endpgm\n"));
  cli.env.emplace_back("XTUNE_LLVM_LIBRARY", cli.path("none"));
  const CommandResult broken = cli.xtune(words);
  CHECK(broken.exit_code == 4);
  CHECK_MESSAGE(has(broken.stderr_text, "cannot be read (XTUNE_LLVM_LIBRARY=" + cli.path("none")), broken.stderr_text);
  CHECK(has(broken.stderr_text, "; llvm-objdump: "));
}

TEST_CASE("PTX comes from NVRTC, for the virtual architecture" * doctest::description("needs NVRTC")) {
  const Cli cli;
  const std::string spec = scale_spec(cli);
  const CommandResult ptx =
      cli.xtune({"show", spec, "--arch", "sm_90", "--config", "BLOCK=64,UNROLL=2", "--ptx", "--format", "json"});
  if (ptx.exit_code == 4) {
    MESSAGE("skipped: NVRTC is not installed");
    return;
  }
  const json answer = parsed(ptx);
  CHECK(has(answer["ptx"], ".target sm_90"));
  CHECK(has(answer["ptx"], ".entry scale("));
  CHECK(answer["resources"]["registers"].is_number());
  CHECK(answer["resources"]["occupancy"] > 0);
  CHECK(has(answer["profile"], "ncu --target-processes all --kernel-name-base mangled --kernel-name scale "));
}

TEST_CASE("what show refuses") {
  const Cli cli;
  const std::string spec = scale_spec(cli);
  const auto refused = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"show", spec, "--backend", "host"});
    const CommandResult result = cli.xtune(words);
    CHECK(result.exit_code == 2);
    return result.stderr_text;
  };
  CHECK(has(refused({"--config", "BLOCK=64"}), "--config leaves 2 configurations: name UNROLL as well"));
  CHECK(
      has(refused({"--config", "BLOCK=65,UNROLL=2"}), "--config BLOCK=65: not among the values of BLOCK, which are ["));
  CHECK(has(refused({"--config", "BLOCK=x"}), "--config BLOCK=x: BLOCK is an integer, and 'x' is not"));
  CHECK(has(refused({"--config", "BLOK=64"}), "--config BLOK: not a parameter of"));
  CHECK(has(refused({"--config", "BLOCK"}), "write NAME=value for each parameter"));
  CHECK(has(refused({"--config", "BLOCK=64,UNROLL=2", "--ptx"}), "PTX is made for NVIDIA GPUs"));
  CHECK(has(refused({"--config", "BLOCK=64,UNROLL=2", "--best"}), "--best"));
  CHECK(has(refused({"--ptx", "--isa"}), "--isa"));
  const std::string space = cli.write("space.toml", "[kernel]\nname = \"s\"\n[space.params]\nA = [1]\n");
  CHECK(has(cli.xtune({"show", space}).stderr_text, "the spec describes only a space"));
  // A configuration that does not compile is an error.
  cli.write("scale.cu", "extern \"C\" __global__ void scale(float* x, int n) { broken }\n");
  const CommandResult failed = cli.xtune({"show", spec, "--backend", "host", "--config", "BLOCK=64,UNROLL=2"});
  CHECK(failed.exit_code == 3);
  CHECK(has(failed.stderr_text, "BLOCK=64 UNROLL=2: compile_failed: "));
}

TEST_CASE("a whole program is tuned as it is, --unit shows what is compiled, and main() is in no key") {
  const Cli cli;
  const std::string spec = scale_spec(cli);
  const std::string kernel =
      "float twice(float x) { return 2 * x; }\n__global__ void scale(float* x, int n) {\n"
      "  const int i = blockIdx.x * BLOCK + threadIdx.x;\n  if (i < n) x[i] = twice(i);\n}\n";
  const auto write = [&](const std::string& message) {
    cli.write("scale.cu", "#include <stdio.h>\n#include \"host.h\"\nstatic Timer timer;\n" + kernel +
                              "int main() {\n  float* x;\n  cudaMalloc(&x, 64);\n  scale<<<1, 64>>>(x, 16);\n  "
                              "printf(\"" +
                              message + "\");\n}\n");
  };
  cli.write("host.h", "struct Timer { cudaEvent_t start; };\nvoid check(cudaEvent_t);\n");
  write("done");
  const CommandResult unit = cli.xtune({"show", "--unit", spec});
  CHECK(unit.exit_code == 0);
  CHECK(has(unit.stdout_text, kernel));
  CHECK_FALSE(has(unit.stdout_text, "cudaMalloc"));
  CHECK(has(unit.stderr_text, "7 lines omitted"));
  CHECK(has(unit.stderr_text, "host.h: 2 lines omitted"));
  CHECK(parsed(cli.xtune({"show", "--unit", cli.path("scale.cu"), "--format", "json"}))["left_out"]["main"] == 9);
  CHECK(cli.xtune({"run", spec, "--backend", "host", "--quiet"}).exit_code == 0);
  write("ready\");\n  puts(\"again");
  CHECK(cli.xtune({"best", spec, "--backend", "host"}).exit_code == 0);
}
