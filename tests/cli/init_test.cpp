// xtune init: drafts that check and run as they are.
#include <doctest/doctest.h>

#include "cli/cli.hpp"

using namespace xtune::system;

using namespace xtune;
using namespace xtune::cli_test;

namespace {

std::string text_of_file(const std::string& path) { return system::read_file(path); }

const char* const saxpy =
    "#ifndef BLOCK\n#define BLOCK 64\n#endif\n"
    "extern \"C\" __global__ void saxpy(const float* x, float* y, float a, int n) {\n"
    "  const int i = blockIdx.x * BLOCK + threadIdx.x;\n  if (i < n) y[i] = a * x[i];\n}\n";

}  // namespace

TEST_CASE("a drafted spec checks and runs at once") {
  const Cli cli;
  const json answer = parsed(cli.xtune({"init", cli.write("saxpy.cu", saxpy), "--format", "json"}));
  CHECK(answer["spec"] == cli.path("saxpy.toml"));
  CHECK(answer["kernel"] == "saxpy");
  CHECK(answer["parameters"] == json{"BLOCK"});
  CHECK(answer["valid"] == true);
  CHECK(answer["guesses"].size() >= 3);
  CHECK(answer["blanks"] == json::array());
  CHECK(has(text_of_file(cli.path("saxpy.toml")), "source = \"saxpy.cu\""));
  const CommandResult checked = cli.xtune({"check", cli.path("saxpy.toml")});
  CHECK(checked.exit_code == 0);
  CHECK_FALSE(has(checked.stderr_text, "warning"));
  const json tuned = parsed(cli.run(cli.path("saxpy.toml"), {"--quiet", "-D", "n=256", "-D", "BLOCK=16"}));
  CHECK(tuned["counts"] == json{{"ok", 1}});
}

TEST_CASE("headers of the user count, and templates are drafted too") {
  const Cli cli;
  cli.write("own.cuh", "#pragma once\n#define LANES 32\nusing Input = float;\n");
  cli.write("k.cu",
            "#include \"own.cuh\"\ntemplate <int Threads>\n__global__ void k(const Input* x, Input* y, int n) {\n"
            "  const int i = blockIdx.x * Threads + threadIdx.x;\n  if (i < n) y[i] = x[i] + LANES;\n}\n");
  const CommandResult drafted = cli.xtune({"init", cli.path("k.cu"), "-o", cli.path("sub.toml")});
  CHECK(drafted.exit_code == 0);
  CHECK(has(drafted.stdout_text, "k<{Threads}>"));
  const std::string spec = text_of_file(cli.path("sub.toml"));
  CHECK(has(spec, "dtype = \"f32\""));
  CHECK_FALSE(has(spec, "LANES"));
  CHECK(parsed(cli.run(cli.path("sub.toml"), {"--quiet", "-D", "n=256", "-D", "Threads=64"}))["counts"] ==
        json{{"ok", 1}});
}

TEST_CASE("a file that exists is kept without --force, and - is standard output") {
  const Cli cli;
  const std::string source = cli.write("saxpy.cu", saxpy), spec = cli.write("saxpy.toml", "mine");
  const CommandResult kept = cli.xtune({"init", source});
  CHECK(kept.exit_code == 2);
  CHECK(has(kept.stderr_text, "saxpy.toml: the file exists; --force replaces it"));
  CHECK(text_of_file(spec) == "mine");
  const CommandResult printed = cli.xtune({"init", source, "-o", "-"});
  CHECK(printed.exit_code == 0);
  CHECK(has(printed.stdout_text, "[kernel]\nname = \"saxpy\""));
  CHECK(text_of_file(spec) == "mine");
  CHECK(cli.xtune({"init", source, "--force"}).exit_code == 0);
  CHECK(has(text_of_file(spec), "name = \"saxpy\""));
  CHECK(cli.xtune({"init", source, "-o", "-", "--format", "json"}).exit_code == 2);
}

TEST_CASE("sources without a kernel, with several, or that are not there are bad arguments") {
  const Cli cli;
  const CommandResult several =
      cli.xtune({"init", cli.write("two.cu", "__global__ void a(int n) {}\n__global__ void b(int n) {}\n")});
  CHECK(several.exit_code == 2);
  CHECK(has(several.stderr_text, "two.cu: several kernels were found: a (line 1), b (line 2)"));
  CHECK_FALSE(fs::exists(cli.path("two.toml")));
  CHECK(cli.xtune({"init", cli.path("two.cu"), "--entry", "b"}).exit_code == 0);
  const CommandResult arguments = cli.xtune({"init", cli.path("two.cu"), "-o", "-", "--entry", "a<float,{BLOCK}>,b"});
  CHECK(has(arguments.stderr_text, "no kernel 'a<float,{BLOCK}>' was found"));
  CHECK(has(arguments.stderr_text, "name it without its template arguments"));
  CHECK(cli.xtune({"init", cli.write("none.cu", "int main() {}\n")}).exit_code == 2);
  const CommandResult missing = cli.xtune({"init", cli.path("nowhere.cu"), "--format", "json"});
  CHECK(missing.exit_code == 2);
  CHECK(parsed(missing)["error"]["kind"] == "invalid_argument");
  const CommandResult help = cli.xtune({"init", "--help"});
  CHECK(has(help.stdout_text, "Write a first spec for a kernel"));
}

TEST_CASE("an overloaded kernel is refused by init, check and run, with both lines") {
  const Cli cli;
  const std::string why =
      "saxpy on line 4 has an overload on line 8, and an entry cannot choose between them: rename one";
  CHECK(cli.xtune({"init", cli.write("saxpy.cu", saxpy)}).exit_code == 0);
  cli.write("saxpy.cu", std::string(saxpy) + "__global__ void saxpy(double* y, int n) { y[n] = 1; }\n");
  for (const char* command : {"init", "check", "run"}) {
    const bool is_init = command == std::string("init");
    const CommandResult refused =
        is_init ? cli.xtune({command, cli.path("saxpy.cu"), "--force"}) : cli.xtune({command, cli.path("saxpy.toml")});
    CHECK(refused.exit_code == 2);
    CHECK(has(refused.stderr_text, why));
  }
}

TEST_CASE("a wrapper of a functor stands beside the draft, and runs") {
  const Cli cli;
  const std::string source =
      cli.write("apply.cu",
                "struct Scale { float by; __host__ __device__ float operator()(float v) const { return v * by; } };\n"
                "template <class F> __global__ void apply(F f, float* x, int n) {\n"
                "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) x[i] = f(x[i]);\n}\n"
                "int main() {\n  const int n = 256;\n  float* x;\n  cudaMalloc(&x, n * sizeof(float));\n"
                "  apply<<<(n + 63) / 64, 64>>>(Scale{2.0f}, x, n);\n}\n");
  CHECK(has(cli.xtune({"init", source}).stderr_text, "`xtune init --wrap` writes a kernel that makes it"));
  const json answer = parsed(cli.xtune({"init", "--wrap", source, "--format", "json"}));
  CHECK(answer["valid"] == true);
  CHECK(answer["blanks"] == json::array());
  CHECK(has(text_of_file(cli.path("apply_wrapped.cu")), "auto f = Scale{2.0f};  // as on line 10"));
  CHECK(parsed(cli.run(cli.path("apply.toml"), {"--quiet", "-D", "THREADS=64"}))["counts"] == json{{"ok", 1}});
  CHECK(has(cli.xtune({"init", "--wrap", source}).stderr_text, "the file exists; --force replaces it"));
}

TEST_CASE("headers of the project are found by -I and compile_commands.json, which the draft then needs no longer") {
  const Cli cli;
  for (const char* folder : {"src", "inc", "lib/deep", "build"}) fs::create_directories(cli.path("project/") + folder);
  cli.write("project/inc/own.cuh", "#pragma once\n#include \"deep/scale.cuh\"\nusing Input = float;\n");
  cli.write("project/lib/deep/scale.cuh", "#define FACTOR SCALE\n");
  const std::string source =
      cli.write("project/src/k.cu",
                "#include \"own.cuh\"\n#ifndef BLOCK\n#define BLOCK 64\n#endif\n"
                "__global__ void k(const Input* x, Input* y, int n) {\n"
                "  const int i = blockIdx.x * BLOCK + threadIdx.x;\n  if (i < n) y[i] = FACTOR * x[i];\n}\n");
  const std::string spec = cli.path("project/src/k.toml"), root = fs::canonical(cli.path("project")).string();
  cli.write("project/CMakeLists.txt", "\n");
  const CommandResult missing = cli.xtune({"init", source, "-o", "-"});
  CHECK(has(missing.stderr_text, "k.cu:1: #include \"own.cuh\" is not in " + root + "/src. " + root + "/inc has it"));
  CHECK(has(missing.stdout_text, "dtype = \"?\""));
  const std::string database = cli.write("project/build/compile_commands.json",
                                         "[{\"directory\": \"..\", \"file\": \"src/k.cu\", \"command\": \"nvcc -Ilib "
                                         "-DSCALE=2 -DBLOCK=8 -std=c++17 k.cu\"}]");
  const CommandResult drafted = cli.xtune({"init", source, "-I", cli.path("project/inc")});
  CHECK(drafted.exit_code == 0);
  CHECK(has(drafted.stderr_text, "include directory ../lib (from ../build/compile_commands.json, entry of k.cu)"));
  CHECK_FALSE(has(drafted.stderr_text, "is not in"));
  const std::string text = text_of_file(spec);
  CHECK(has(text, "  \"../inc\",  # -I\n  \"../lib\",  # ../build/compile_commands.json, entry of k.cu\n]\n"));
  CHECK(has(text, "options = [\"-std=c++17\"]"));
  CHECK(has(text, "defines = { SCALE = \"2\" }"));
  CHECK(has(text, "# -DBLOCK=8 is the parameter"));
  fs::remove(database);
  const CommandResult checked = cli.xtune({"check", spec});
  CHECK_MESSAGE(checked.exit_code == 0, checked.stderr_text);
  CHECK(parsed(cli.run(spec, {"--quiet", "-D", "n=256", "-D", "BLOCK=16"}))["counts"] == json{{"ok", 1}});
  cli.write("project/compile_commands.json", "[{");
  const CommandResult broken = cli.xtune({"init", source, "--force"});
  CHECK(broken.exit_code == 2);
  CHECK(has(broken.stderr_text, "compile_commands.json: not JSON (parse error at line 1"));
  CHECK(cli.xtune({"init", source, "--force", "--compile-commands", "none"}).exit_code == 0);
}

TEST_CASE("a header that is missing is read as empty if the kernel compiles without, and a failure names it") {
  const Cli cli;
  const auto spec_of = [&](const std::string& body) {
    cli.write("k.cu", "#include \"gone/host.h\"\n#include \"../up.h\"\n__global__ void k(float* y) {\n" + body + "}\n");
    return cli.write(
        "k.toml",
        "[kernel]\nname = \"k\"\nsource = \"k.cu\"\n[space.params]\nB = [1]\n[launch]\ngrid = [1]\nblock = "
        "[\"B\"]\n[[args]]\nname = \"y\"\ndtype = \"f32\"\nshape = [1]\nrole = \"out\"\n");
  };
  const CommandResult compiled = cli.xtune({"compile", spec_of("  y[0] = 1;\n"), "--backend", "host"});
  CHECK_MESSAGE(compiled.exit_code == 0, compiled.stdout_text);
  CHECK(has(compiled.stderr_text, "read as empty: \"../up.h\", \"gone/host.h\""));
  const CommandResult checked = cli.xtune({"check", cli.path("k.toml")});
  CHECK(checked.exit_code == 0);
  for (const CommandResult& told : {checked, cli.xtune({"init", cli.path("k.cu"), "-o", "-"})}) {
    CHECK(has(told.stderr_text, "k.cu:1: #include \"gone/host.h\" is not in"));
    CHECK(has(told.stderr_text, "k.cu:2: #include \"../up.h\" is not in"));
  }
  const CommandResult failed =
      cli.xtune({"compile", spec_of("  y[0] = NEEDED;\n"), "--backend", "host", "--format", "json"});
  CHECK(has(failed.stdout_text, "'NEEDED' was not declared in this scope"));
  CHECK(has(failed.stdout_text, "(hint: k.cu:1: #include \\\"gone/host.h\\\" is not in"));
}
