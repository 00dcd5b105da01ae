// The guarantees of the bench worker: results are right in every launch, and a run leaves nothing behind.
#include <doctest/doctest.h>

#include <algorithm>

#include "cli.hpp"
#include "fakes/process_checks.hpp"

using namespace xtune::system;

using namespace xtune;
using namespace xtune::cli_test;

namespace {

/// y = 2 x with a kernel whose first parameter selects additional actions; every configuration is measured in full.
std::string doubling_spec(const Cli& cli, const std::string& kernel, const std::string& values,
                          const std::string& measure = "rep = 7\nmax_time_ms = 20\nrace = false\nfinals = 0\n") {
  cli.write("k.cu", kernel);
  cli.write("ref.cu",
            "extern \"C\" __global__ void ref(const float* x, float* y, int n) {\n"
            "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) y[i] = 2 * x[i];\n}\n");
  return cli.write("k.toml",
                   "[kernel]\nname = \"k\"\nsource = \"k.cu\"\nentry = \"k\"\n[problem]\nN = 4096\n"
                   "[space.params]\nWAY = " +
                       values +
                       "\n[launch]\ngrid = [8]\nblock = [64]\n"
                       "[[args]]\nname = \"x\"\ndtype = \"f32\"\nshape = [\"N\"]\n"
                       "[[args]]\nname = \"y\"\ndtype = \"f32\"\nshape = [\"N\"]\nrole = \"out\"\n"
                       "[[args]]\nname = \"n\"\nkind = \"scalar\"\ndtype = \"i32\"\nvalue = \"N\"\n"
                       "[validate]\nreference = { kernel = \"ref\", source = \"ref.cu\", grid = [64], block = [64] }\n"
                       "[measure]\n" +
                       measure);
}

constexpr const char* loop =
    "  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = 2 * x[i];\n";

std::vector<int> numbers_in(const std::string& path) {
  std::ifstream in(path);
  std::vector<int> numbers;
  for (int number = 0; in >> number;) numbers.push_back(number);
  return numbers;
}

}  // namespace

TEST_CASE("A kernel that works in its first launch only does not win") {
  const Cli cli;
  const std::string spec = doubling_spec(cli,
                                         "#if WAY\n__device__ unsigned next_tile = 0;\n#endif\n"
                                         "extern \"C\" __global__ void k(const float* x, float* y, int n) {\n"
                                         "#if WAY  // the counter is never reset\n"
                                         "  __shared__ unsigned tile;\n"
                                         "  for (;;) {\n"
                                         "    if (threadIdx.x == 0) tile = atomicAdd(&next_tile, 1u);\n"
                                         "    __syncthreads();\n"
                                         "    const unsigned mine = tile;\n"
                                         "    __syncthreads();\n"
                                         "    if (mine * blockDim.x >= n) return;\n"
                                         "    const int i = mine * blockDim.x + threadIdx.x;\n"
                                         "    if (i < n) y[i] = 2 * x[i];\n"
                                         "  }\n"
                                         "#else\n" +
                                             std::string(loop) + "#endif\n}\n",
                                         "[1, 0]");
  const CommandResult run = cli.run(spec);
  CAPTURE(run.stderr_text);
  REQUIRE(run.exit_code == 0);
  const json result = parsed(run);
  CHECK(result["counts"] == json{{"ok", 1}, {"wrong_result", 1}});
  CHECK(result["best"]["config"]["WAY"] == 0);
  CHECK(parsed(cli.xtune({"best", spec, "--backend", "host", "--format", "json"}))["best"]["config"]["WAY"] == 0);
  for (const json& record : cli.records())
    if (record["config"]["WAY"] == 1) {
      CHECK(record["stage"] == "validate");
      CHECK(record["message"].get<std::string>().find("the first launch was right") != std::string::npos);
    }
}

TEST_CASE("Processes that a kernel starts end with its configuration, or with the run") {
  const Cli cli;
  const std::string pids = cli.path("pids");
  // A daemon: in another session, without a parent. Way 2 then crashes its worker.
  const std::string spec =
      doubling_spec(cli,
                    "#include <stdio.h>\n#include <stdlib.h>\n#include <unistd.h>\n"
                    "extern \"C\" __global__ void k(const float* x, float* y, int n) {\n" +
                        std::string(loop) +
                        "  if (blockIdx.x != 0 || threadIdx.x != 0) return;\n"
                        "  if (fork() == 0) {\n"
                        "    setsid();\n"
                        "    if (fork() > 0) _exit(0);\n"
                        "    FILE* file = fopen(\"" +
                        pids +
                        "\", \"a\");\n"
                        "    fprintf(file, \"%d\\n\", (int)getpid());\n"
                        "    fclose(file);\n"
                        "    for (;;) pause();\n"
                        "  }\n"
                        "  if (WAY == 2) { usleep(200000); abort(); }\n"
                        "}\n",
                    "[1, 2]", "rep = 1\nmin_rep = 1\nwarmup = 0\nrace = false\nfinals = 0\ntimeout_s = 20\n");
  const CommandResult run = cli.run(spec);
  CAPTURE(run.stderr_text);
  CHECK(run.exit_code == 0);
  const std::vector<int> daemons = numbers_in(pids);
  CHECK(daemons.size() >= 2);
  for (const int daemon : daemons) CHECK(fakes::is_dead(daemon));
}

TEST_CASE("Nothing of programs stays in the temporary directory: after finals, a failure, a signal") {
  const Cli cli;
  const auto spec_of = [&](const std::string& name, const std::string& script) {
    return cli.write(name,
                     "[kernel]\nname = \"p\"\n[space.params]\nT = { min = 1, max = 4 }\n[process]\n"
                     "build = \"sh -c 'echo \\\"" +
                         script +
                         "\\\" > $1; chmod +x $1' - {out}\"\nrun = \"sh {out} {T} {tmp}\"\n"
                         "time = { regex = 'took ([0-9.]+) ms' }\n"
                         "[measure]\nrep = 3\nrace = false\nfinals = 4\n[search]\nstrategy = \"exhaustive\"\n");
  };
  const auto tmp_is_empty = [&] { return fs::is_empty(cli.path("tmp")); };
  const CommandResult run =
      cli.xtune({"run", spec_of("p.toml", "echo took 1.00\\\\$1 ms; : > \\\\$2/left"), "--quiet"});
  CAPTURE(run.stderr_text);
  CHECK(run.exit_code == 0);
  CHECK(tmp_is_empty());
  CHECK(cli.xtune({"run", spec_of("f.toml", "exit 3"), "--quiet"}).exit_code == 3);
  CHECK(tmp_is_empty());
  for (const int signum : {SIGINT, SIGTERM, SIGHUP}) {
    const std::string started = cli.path("started" + std::to_string(signum));
    Running running(cli, {"run", spec_of("s.toml", ": > " + started + "; sleep 100"), "--quiet", "--fresh"});
    REQUIRE(running.wait_until([&] { return fs::exists(started); }));
    kill(running.process.pid(), signum);
    REQUIRE(running.wait_for_end());
    CHECK(running.exit_code == 130);
    CHECK(tmp_is_empty());
  }
}

TEST_CASE("A umask that takes everything away does not keep xtune from its own files") {
  const Cli cli;
  const std::string spec = cli.copy_spec("[1]");
  const CommandResult run = cli.command({"/bin/sh", "-c", "umask 777; exec \"$0\" \"$@\"", XTUNE_PROGRAM, "run", spec,
                                         "--backend", "host", "--format", "json"});
  CAPTURE(run.stderr_text);
  CHECK(run.exit_code == 0);
  CHECK(fs::is_empty(cli.path("tmp")));
  for (const auto& entry : fs::recursive_directory_iterator(cli.path("cache"))) {
    CAPTURE(entry.path().string());
    CHECK((entry.status().permissions() & fs::perms::owner_read) == fs::perms::owner_read);
  }
}

TEST_CASE("Long output of a host compiler is truncated") {
  Cli cli;
  const std::string script = cli.write("cxx",
                                       "#!/bin/sh\ncase \"$*\" in *-version*|*-print*) exec g++ \"$@\";; esac\n"
                                       "head -c 20000000 /dev/zero | tr '\\0' w >&2\nexec g++ \"$@\"\n");
  fs::permissions(script, fs::perms::owner_all);
  cli.env.emplace_back("XTUNE_HOST_CXX", script);
  const CommandResult run = cli.run(cli.copy_spec("[1]"), {"--log", cli.path("log")});
  CAPTURE(run.stderr_text.substr(0, 1000));
  CHECK(run.exit_code == 0);
  CHECK(fs::file_size(cli.path("log")) < 2'000'000);
}
