// Nothing is stored under a key that does not describe it: files and compilers that change during a run, or between
// runs.
#include <doctest/doctest.h>

#include "cli.hpp"
#include "system/files.hpp"

using namespace xtune::system;

using namespace xtune;
using namespace xtune::cli_test;

namespace {

/// A copy kernel whose factor is in a header, and a compiler that is a script of the test's.
struct Project : Cli {
  std::string spec = copy_spec("[1, 2]");

  Project() {
    write("copy.cu",
          "#include \"factor.h\"\n"
          "extern \"C\" __global__ void copy(const float* x, float* y, int n) {\n"
          "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
          "  if (i < n) y[i] = FACTOR * x[i];\n"
          "}\n");
    write("factor.h", "#define FACTOR 1\n");
    write("version", "g++ stand-in 1\n");
    env.emplace_back("XTUNE_HOST_CXX", path("cxx"));
    compiler("");
  }
  /// before: the first action of the script; $1 is the compiler's first argument.
  void compiler(const std::string& before) const {
    write("cxx.new", "#!/bin/sh\nif [ \"$1\" = --version ]; then cat '" + path("version") + "'; exit; fi\n" + before +
                         "exec g++ \"$@\"\n");
    fs::permissions(path("cxx.new"), fs::perms::owner_all);
    fs::rename(path("cxx.new"), path("cxx"));
  }
  /// Does this once, before the first source is preprocessed.
  void compiler_that(const std::string& command) const {
    compiler("if [ \"$1\" = -E ] && [ ! -e '" + path("once") + "' ]; then case \"$*\" in *xtune_host.h*) touch '" +
             path("once") + "'; " + command + ";; esac; fi\n");
  }
  std::size_t count(const std::string& place, const std::string& ending) const {
    std::size_t found = 0;
    std::error_code none;
    for (const auto& entry : fs::recursive_directory_iterator(path("cache/" + place), none))
      found += entry.path().extension() == ending;
    return found;
  }
};

}  // namespace

TEST_CASE("A header that is edited while a run compiles ends the run, and nothing of it is stored") {
  const Project project;
  project.compiler_that("echo '#define FACTOR 2' > '" + project.path("factor.h") + "'");
  const CommandResult edited = project.run(project.spec);
  CHECK(edited.exit_code == 1);
  CHECK(has(edited.stderr_text, "factor.h: changed since the run began"));
  CHECK(project.count("artifacts", ".so") == 0);
  CHECK(project.count("records", ".jsonl") == 0);
  project.write("factor.h", "#define FACTOR 1\n");
  const json again = json::parse(project.run(project.spec).stdout_text);
  CHECK(again["counts"] == json{{"ok", 2}});
  CHECK(again["from_store"] == 0);
}

TEST_CASE("A header that a macro names is part of the key") {
  const Project project;
  for (const char* include : {"#define H \"factor.h\"\n#include H\n",
                              "#define S2(x) #x\n#define S(x) S2(x)\n#define NAME factor\n#include S(NAME.h)\n"}) {
    CAPTURE(include);
    project.write("copy.cu", std::string(include) +
                                 "extern \"C\" __global__ void copy(const float* x, float* y, int n) {\n"
                                 "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                                 "  if (i < n) y[i] = FACTOR * x[i];\n"
                                 "}\n");
    project.write("factor.h", "#define FACTOR 1\n");
    CHECK(json::parse(project.run(project.spec).stdout_text)["counts"] == json{{"ok", 2}});
    project.write("factor.h", "#define FACTOR 3\n");
    CHECK(json::parse(project.run(project.spec).stdout_text)["counts"] == json{{"wrong_result", 2}});
  }
}

TEST_CASE("A file that only the compiler names is part of the key") {
  const Project project;
  project.compiler("[ \"$1\" = -E ] && set -- \"$@\" -include '" + project.path("hidden.h") + "'\n");
  const auto from_store = [&](const std::string& text) {
    project.write("hidden.h", text);
    const json result = json::parse(project.run(project.spec).stdout_text);
    CHECK(result["counts"] == json{{"ok", 2}});
    return result["from_store"].get<int>();
  };
  CHECK(from_store("#define HIDDEN 1\n") == 0);
  CHECK(from_store("#define HIDDEN 1\n") == 2);
  project.write("hidden.h", "#define HIDDEN 2\n");
  const json why =
      json::parse(project.xtune({"why", project.spec, "--backend", "host", "--format", "json"}).stdout_text);
  CHECK(why["differing"] == json{{"file " + project.path("hidden.h"), 2}});
  CHECK(from_store("#define HIDDEN 2\n") == 0);
  // What was measured before is found again.
  CHECK(from_store("#define HIDDEN 1\n") == 2);
  // Without the list of what to look at, one compile shows it.
  fs::remove_all(project.path("cache/manifests"));
  CHECK(from_store("#define HIDDEN 1\n") <= 1);
  CHECK(from_store("#define HIDDEN 1\n") == 2);
}

TEST_CASE("Another compiler at the same path is noticed without being asked for") {
  const Project project;
  REQUIRE(has(project.run(project.spec).stderr_text, "g++ stand-in 1"));
  SUBCASE("The file is another one") {
    project.write("version", "g++ stand-in 2\n");
    project.compiler("\n");
  }
  SUBCASE("The file is the same, and starts another one") { project.write("version", "g++ stand-in 2\n"); }
  const CommandResult after = project.run(project.spec);
  CHECK(has(after.stderr_text, "g++ stand-in 2"));
  CHECK(json::parse(after.stdout_text)["from_store"] == 0);
}

TEST_CASE("A compiler that failed once is asked again") {
  const Project project;
  project.compiler("");
  project.write("cxx", "#!/bin/sh\nif [ -e '" + project.path("broken") +
                           "' ]; then echo cannot fork >&2; exit 1; fi\nexec g++ \"$@\"\n");
  project.write("broken", "");
  const CommandResult broken = project.run(project.spec);
  CHECK(broken.exit_code == 4);
  CHECK(has(broken.stderr_text, "cannot fork"));
  fs::remove(project.path("broken"));
  CHECK(project.run(project.spec).exit_code == 0);
}

TEST_CASE("A program's source that is edited while it is built ends the run") {
  const Cli cli;
  cli.write("prog.cpp", "#include <cstdio>\nint main() { std::printf(\"took %d ms\\n\", 100 + T); }\n");
  const std::string spec = cli.write(
      "prog.toml",
      "[kernel]\nname = \"prog\"\n[space.params]\nT = [1, 2]\n[process]\nshell = true\n"
      "build = \"if [ ! -e once ]; then touch once; sed -i 's/100/1/' prog.cpp; fi; g++ -DT={T} prog.cpp -o {out}\"\n"
      "sources = [\"prog.cpp\"]\nrun = \"{out}\"\ntime = { regex = 'took ([0-9.]+) ms' }\n"
      "[measure]\nrep = 1\nrace = false\nfinals = 0\n[search]\nstrategy = \"exhaustive\"\n");
  const CommandResult edited = cli.xtune({"run", spec});
  CHECK(edited.exit_code == 1);
  CHECK(has(edited.stderr_text, "prog.cpp: changed since the run began"));
  for (const std::string& text : cli.stored_texts()) CHECK_FALSE(has(text, "\"samples_ms\""));
  CHECK(json::parse(cli.xtune({"run", spec, "--format", "json"}).stdout_text)["from_store"] == 0);
}

TEST_CASE("A measurement with warm caches is not an exact answer for cold ones, and `why` names the difference") {
  const Cli cli;
  const std::string more = "[measure]\nrep = 3\nmin_rep = 3\nrace = false\nfinals = 0\n";
  REQUIRE(cli.run(cli.copy_spec("[1]", more + "mode = \"hot\"\n")).exit_code == 0);
  const std::string cold = cli.copy_spec("[1]", more);
  const CommandResult best = cli.xtune({"best", cold, "--backend", "host"});
  CHECK(has(best.stdout_text, "measured under another key than this spec's; what differs: flush"));
  REQUIRE(cli.run(cold).exit_code == 0);
  CHECK_FALSE(has(cli.xtune({"best", cold, "--backend", "host"}).stdout_text, "what differs"));

  std::ofstream(cli.path("copy.cu"), std::ios::app) << "// changed\n";
  const json why = json::parse(cli.xtune({"why", cold, "--backend", "host", "--format", "json"}).stdout_text);
  CHECK(why["differing"] == json{{"source copy.cu", 1}});
  CHECK(why["example"]["differences"] == json{"source copy.cu: changed"});
}

TEST_CASE("A damaged record that names another configuration than its key's is not served") {
  const Cli cli;
  std::string macros = read_file(cli.copy_spec("[1, 2]"));
  macros.replace(macros.find("compile_time = false"), 20, "compile_time = true");
  const std::string spec = cli.write("copy.toml", macros);
  REQUIRE(cli.run(spec).exit_code == 0);
  for (const auto& entry : fs::recursive_directory_iterator(cli.path("cache/records"))) {
    if (entry.path().extension() != ".jsonl") continue;
    std::string text = read_file(entry.path());
    for (std::size_t at; (at = text.find(",\"checksum\":\"")) != std::string::npos;) text.erase(at, 22);
    const std::string one = "\"config\":{\"VARIANT\":1}";
    text.replace(text.find(one), one.size(), "\"config\":{\"VARIANT\":2}");
    std::ofstream(entry.path(), std::ios::binary | std::ios::trunc) << text;
  }
  const CommandResult again = cli.run(spec);
  CHECK(has(again.stderr_text, "names the configuration VARIANT=2, and its key is of another one"));
  CHECK(json::parse(again.stdout_text)["from_store"] == 1);
}

TEST_CASE("A kernel that writes beyond the dynamic shared memory of its launch fails") {
  const Cli cli;
  std::string text = read_file(cli.copy_spec("[1, 2]"));
  text.replace(text.find("[launch]\n"), 9, "[launch]\nshared = \"128 * VARIANT\"\n");
  cli.write("copy.cu",
            "extern \"C\" __global__ void copy(const float* x, float* y, int n) {\n"
            "  extern __shared__ float part[];\n"
            "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
            "  part[blockDim.x == 32 ? threadIdx.x + 1 : threadIdx.x] = x[i];\n"
            "  if (i < n) y[i] = x[i];\n"
            "}\n");
  const json result = json::parse(cli.run(cli.write("copy.toml", text)).stdout_text);
  CHECK(result["counts"] == json{{"ok", 1}, {"crashed", 1}});
  CHECK(has(result["failures"].dump(), "wrote beyond its dynamic shared memory: shared is 128 bytes"));
}
