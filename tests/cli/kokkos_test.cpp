// `xtune run` on Kokkos units: the shipped specs, run-time parameters, faults, and the messages without Kokkos.
#include <doctest/doctest.h>

#include "cli.hpp"

using namespace xtune::system;

using namespace xtune;
using namespace xtune::cli_test;

namespace {

bool kokkos_here(const Cli& cli) {
  const json backend = parsed(cli.xtune({"devices", "--backend", "kokkos", "--format", "json"}))["backends"][0];
  if (!backend["devices"].empty()) return true;
  MESSAGE("skipped: no Kokkos here: " << backend["device_reason"].get<std::string>()
                                      << " [apt: libtrilinos-kokkos-dev]");
  return false;
}

std::size_t artifacts(const Cli& cli) {
  std::size_t count = 0;
  for (const auto& file : fs::recursive_directory_iterator(cli.path("cache") + "/artifacts"))
    count += file.path().extension() == ".so";
  return count;
}

const char* const quick_measure =
    "[measure]\nrep = 5\nmin_rep = 3\nwarmup = 1\nmax_time_ms = 20\nrace = false\nfinals = 0\n";

/// A unit that adds ADD to x, TIMES times.
std::string add_spec(const Cli& cli, const std::string& body, const std::string& parameters) {
  cli.write("add.cpp", "void add(float* x, int n, int times) {\n" + body +
                           "  for (int t = 0; t < times; ++t)\n"
                           "    Kokkos::parallel_for(Kokkos::RangePolicy<xtune::kokkos::ExecutionSpace>(0, n),\n"
                           "                         KOKKOS_LAMBDA(int i) { x[i] += ADD / times; });\n"
                           "}\n"
                           "void add_once(float* x, int n, int) {\n"
                           "  Kokkos::parallel_for(Kokkos::RangePolicy<xtune::kokkos::ExecutionSpace>(0, n),\n"
                           "                       KOKKOS_LAMBDA(int i) { x[i] += 4.0f; });\n"
                           "}\n");
  return cli.write("add.toml",
                   "[kernel]\nname = \"add\"\nbackend = \"kokkos\"\nsource = \"add.cpp\"\n[problem]\nN = 1000\n"
                   "[space.params]\n" +
                       parameters +
                       "[[args]]\nname = \"x\"\ndtype = \"f32\"\nshape = [\"N\"]\nrole = \"inout\"\n"
                       "[[args]]\nname = \"n\"\nkind = \"scalar\"\ndtype = \"i32\"\nvalue = \"N\"\n"
                       "[[args]]\nname = \"times\"\nkind = \"scalar\"\ndtype = \"i32\"\nvalue = \"TIMES\"\n"
                       "[validate]\nreference = { kernel = \"add_once\" }\n" +
                       quick_measure);
}

}  // namespace

TEST_CASE("The shipped Kokkos specs tune, and give the right results") {
  const Cli cli;
  if (!kokkos_here(cli)) return;
  for (const auto& [name, sizes] :
       {std::pair<std::string, std::vector<std::string>>{"kokkos_gemm", {"-D", "M=65", "-D", "N=70", "-D", "K=33"}},
        {"kokkos_stencil", {"-D", "ROWS=67", "-D", "COLUMNS=70"}}}) {
    CAPTURE(name);
    std::vector<std::string> arguments{
        "run", XTUNE_SOURCE_DIR "/configs/" + name + ".toml", "--format", "json", "--evals", "2"};
    arguments.insert(arguments.end(), sizes.begin(), sizes.end());
    const CommandResult run = cli.xtune(arguments);
    CAPTURE(run.stderr_text);
    REQUIRE(run.exit_code == 0);
    const json result = parsed(run);
    CHECK(result["device"]["backend"] == "kokkos");
    CHECK_FALSE(result["counts"].contains("wrong_result"));
    CHECK_FALSE(result["counts"].contains("compile_failed"));
    CHECK(has(run.stderr_text, "compiler Kokkos "));
  }
}

TEST_CASE("Run-time values of a Kokkos unit cost no compilation, and the store answers for each") {
  const Cli cli;
  if (!kokkos_here(cli)) return;
  const std::string spec = add_spec(cli, "", "ADD = [4.0]\nTIMES = { values = [1, 2, 4], compile_time = false }\n");
  const CommandResult run = cli.xtune({"run", spec, "--format", "json"});
  CAPTURE(run.stderr_text);
  REQUIRE(run.exit_code == 0);
  CHECK(parsed(run)["counts"] == json{{"ok", 3}});
  CHECK(artifacts(cli) == 2);  // the unit with add, and with the reference
  CHECK(parsed(cli.xtune({"run", spec, "--format", "json"}))["from_store"] == 3);
  const json best = parsed(cli.xtune({"best", spec, "--format", "json"}));
  CHECK(best["match"] == "exact");
}

TEST_CASE("Kokkos units that fail are outcomes, and the others go on") {
  const Cli cli;
  if (!kokkos_here(cli)) return;
  const std::string spec = add_spec(cli,
                                    "  if (times == 2) std::abort();\n"
                                    "  if (times == 3) for (volatile int go = 1; go;) {}\n"
                                    "  if (times == 5) times = 0;\n"
                                    "  if (times == 7) x[n] = 1;\n",
                                    "ADD = [4.0]\nTIMES = { values = [1, 2, 3, 4, 5, 7], compile_time = false }\n");
  const std::string text = read_file(spec);
  cli.write("add.toml", text + "timeout_s = 3\n");
  const CommandResult run = cli.xtune({"run", spec, "--format", "json"});
  CAPTURE(run.stderr_text);
  REQUIRE(run.exit_code == 0);
  // 5 computes nothing, 7 writes beyond its buffer.
  CHECK(parsed(run)["counts"] == json{{"crashed", 1}, {"ok", 2}, {"timed_out", 1}, {"wrong_result", 2}});
}

TEST_CASE("What a probe finds of Kokkos is remembered until one of its files changes") {
  Cli cli;
  const auto install = [&](const std::string& name, const std::string& text) {
    fs::create_directories(fs::path(cli.path("kokkos/" + name)).parent_path());
    cli.write("kokkos/" + name, text);
  };
  install("lib/cmake/Kokkos/KokkosConfigVersion.cmake",
          "set(PACKAGE_VERSION 4.6.1)\nset(PACKAGE_VERSION_COMPATIBLE TRUE)\n");
  install("lib/cmake/Kokkos/KokkosConfig.cmake",
          "SET(Kokkos_DEVICES SERIAL)\nadd_library(Kokkos::kokkos INTERFACE IMPORTED)\n"
          "set_target_properties(Kokkos::kokkos PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "
          "\"${CMAKE_CURRENT_LIST_DIR}/../../../include\")\n");
  install("include/Kokkos_Core.hpp", "#define OF_CORE\n");
  install("include/KokkosCore_config.h", "#define KOKKOS_VERSION 40601\n");
  cli.env.emplace_back("Kokkos_ROOT", cli.path("kokkos"));
  const json found = parsed(cli.xtune({"devices", "--backend", "kokkos", "--format", "json"}))["backends"][0];
  if (found["devices"].empty()) {
    MESSAGE("skipped: " << found["device_reason"].get<std::string>());
    return;
  }
  const std::string spec = add_spec(cli, "", "ADD = { values = [4.0] }\nTIMES = { values = [1] }\n");
  CHECK_FALSE(has(cli.xtune({"best", spec}).stderr_text, "no kokkos device here"));
  std::vector<fs::path> memories;
  for (const auto& file : fs::directory_iterator(cli.path("cache") + "/inventory"))
    if (file.path().filename().string().starts_with("kokkos-")) memories.push_back(file.path());
  REQUIRE(memories.size() == 1);
  json memory = json::parse(read_file(memories[0]));
  memory["devices"] = json::array();
  std::ofstream(memories[0]) << memory.dump();
  CHECK(has(cli.xtune({"best", spec}).stderr_text, "no kokkos device here"));
  install("include/impl/Kokkos_New.hpp", "#define ONE_MORE\n");
  CHECK_FALSE(has(cli.xtune({"best", spec}).stderr_text, "no kokkos device here"));
}

TEST_CASE("A Kokkos spec runs only on backend kokkos, which takes no other") {
  const Cli cli;
  const std::string kokkos = XTUNE_SOURCE_DIR "/configs/kokkos_gemm.toml";
  const CommandResult host = cli.xtune({"run", kokkos, "--backend", "host"});
  CHECK(host.exit_code == 2);
  CHECK(has(host.stderr_text, "--backend host: the spec's kernel is a Kokkos unit"));
  const CommandResult other = cli.xtune({"run", cli.copy_spec(), "--backend", "kokkos"});
  CHECK(other.exit_code == 2);
  CHECK(has(other.stderr_text, "[kernel] backend = \"kokkos\""));
  const CommandResult check = cli.xtune({"check", XTUNE_SOURCE_DIR "/configs/kokkos_stencil.toml", "--format", "json"});
  CHECK(check.exit_code == 0);
}

TEST_CASE("Without Kokkos, or without the execution space that is asked for, nothing runs and the reason is told") {
  Cli cli;
  const std::string spec = XTUNE_SOURCE_DIR "/configs/kokkos_gemm.toml";
  SUBCASE("No Kokkos") {
    cli.env.emplace_back("Kokkos_ROOT", cli.path("nothing"));
    const CommandResult run = cli.xtune({"run", spec});
    CHECK(run.exit_code == 4);
    CHECK(has(run.stderr_text, "Kokkos_ROOT"));
    // Auto is not for Kokkos: other kernels do not miss it.
    CHECK(cli.run(cli.copy_spec()).exit_code == 0);
  }
  SUBCASE("No CMake") {
    cli.env.emplace_back("PATH", "/nonexistent");
    const CommandResult run = cli.xtune({"run", spec});
    CHECK(run.exit_code == 4);
    CHECK(has(run.stderr_text, "cmake is not in PATH"));
  }
  SUBCASE("No such space") {
    if (!kokkos_here(cli)) return;
    cli.env.emplace_back("XTUNE_KOKKOS_SPACE", "Sycl");
    const CommandResult run = cli.xtune({"run", spec});
    CHECK(run.exit_code == 4);
    CHECK(has(run.stderr_text, "XTUNE_KOKKOS_SPACE asks for 'Sycl'"));
  }
}
