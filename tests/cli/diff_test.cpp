// xtune diff over stores, files, versions and devices.
#include <doctest/doctest.h>

#include "cli/cli.hpp"
#include "system/files.hpp"

using namespace xtune::system;

using namespace xtune;
using namespace xtune::cli_test;

namespace {

/// A result as `run --format json` prints it.
std::string result_file(const Cli& cli, const std::string& name, double time_ms) {
  const json config{{"BLOCK", 16}};
  const json measured{{"config", config}, {"time_ms", time_ms}, {"interval_ms", {time_ms * 0.99, time_ms * 1.01}}};
  return cli.write(name, json{{"kernel", "k"},
                              {"problem", {{"N", 4}}},
                              {"device", {{"name", "D"}, {"backend", "host"}, {"arch", "x86_64"}}},
                              {"trace", {{{"config", config}, {"outcome", "ok"}, {"time_ms", time_ms}}}},
                              {"top", {measured}},
                              {"best", measured}}
                             .dump());
}

}  // namespace

TEST_CASE("results as gates: the exit code tells a slower answer") {
  const Cli cli;
  const std::string a = result_file(cli, "a.json", 1), b = result_file(cli, "b.json", 1.3);
  const CommandResult plain = cli.xtune({"diff", a, b});
  CHECK(plain.exit_code == 0);
  CHECK(has(plain.stdout_text, "answer, after / before: 1.300 (1.274 .. 1.326), slower\n"));
  CHECK(cli.xtune({"diff", a, b, "--fail-if-slower", "50%"}).exit_code == 0);
  const CommandResult fails = cli.xtune({"diff", a, b, "--fail-if-slower", "5%", "--format", "json"});
  CHECK(fails.exit_code == 5);
  CHECK(parsed(fails)["failed"] == true);
  CHECK(parsed(fails)["summary"]["slower"] == 1);
  CHECK(cli.xtune({"diff", b, a, "--fail-if-slower", "0%"}).exit_code == 0);
  CHECK(cli.xtune({"diff", a, b, "--fail-if-slower", "0%", "--noise", "40%"}).exit_code == 0);
  const CommandResult csv = cli.xtune({"diff", a, b, "--format", "csv"});
  CHECK(csv.stdout_text.find("kernel,problem.N,device_before,device_after,change,ratio") == 0);
}

TEST_CASE("a store's versions: a changed source is named, and a result that became wrong is found") {
  const Cli cli;
  const std::string spec = cli.copy_spec("[1, 2]");
  const std::string store = cli.path("cache");
  parsed(cli.run(spec, {"--quiet"}));
  const CommandResult one = cli.xtune({"diff", store});
  CHECK(one.exit_code == 3);
  CHECK(has(one.stderr_text, "one version of source, compiler and driver"));
  const std::string source = system::read_file(cli.path("copy.cu"));
  cli.write("copy.cu", "// another line\n" + source.substr(0, source.find("y[i] = x[i]")) +
                           "y[i] = x[i] + (blockDim.x == 64 ? 1 : 0);\n}\n");
  parsed(cli.run(spec, {"--quiet"}));
  const json answer = parsed(cli.xtune({"diff", store, "--noise", "1000%", "--format", "json"}));
  REQUIRE(answer["cases"].size() == 1);
  const json& pair = answer["cases"][0];
  CHECK(pair["differences"] == json{"source copy.cu: changed"});
  CHECK(pair["configurations"]["both"] == 2);
  REQUIRE(pair["outcomes"].size() == 1);
  CHECK(pair["outcomes"][0]["config"] == json{{"VARIANT", 2}});
  CHECK(pair["outcomes"][0]["before"] == "ok");
  CHECK(pair["outcomes"][0]["after"] == "wrong_result");
  // The newest version of a store is what another one is compared with.
  const json same = parsed(cli.xtune({"diff", store, store, "--format", "json"}));
  CHECK(same["cases"][0]["answer"]["ratio"] == 1.0);
  CHECK(same["cases"][0]["differences"] == json::array());
}

namespace {

/// A program that takes B ms; FAC multiplies its loss, which is less for a larger B.
std::string lossy_spec(const Cli& cli, const std::string& measure = "", const std::string& more = "") {
  cli.write("o.awk", "BEGIN { printf \"took %g ms\\nloss %g\\n\", b, (5 - b) * ENVIRON[\"FAC\"] }\n");
  return cli.write("o.toml",
                   "[kernel]\nname = \"o\"\n[space.params]\nB = [1, 2, 4]\n[process]\nrun = \"awk -v b={B} -f "
                   "o.awk\"\nenvironment = [\"FAC\"]\ntime = { regex = 'took ([0-9.]+)', unit = \"ms\" }\n"
                   "[process.metrics]\nloss = { regex = 'loss ([0-9.]+)' }\n[measure]\nrep = 3\nmin_rep = 3\n" +
                       measure + more);
}

CommandResult run_with(const Cli& cli, const std::string& factor, const std::string& spec, const std::string& store) {
  return cli.command(
      {"env", "FAC=" + factor, XTUNE_PROGRAM, "run", spec, "--store", cli.path(store), "--format", "json", "--quiet"});
}

json exported(const Cli& cli, const std::string& store, const std::vector<std::string>& more = {}) {
  std::vector<std::string> words{"env",      "FAC=1", XTUNE_PROGRAM, "store",        "export",
                                 "--format", "json",  "--store",     cli.path(store)};
  words.insert(words.end(), more.begin(), more.end());
  return parsed(cli.command(words)).at(0);
}

}  // namespace

TEST_CASE("what is exported, bundled and compared is the answer by the spec's objective") {
  const Cli cli;
  const std::string spec = lossy_spec(cli, "", "[objective]\nminimize = \"loss\"\n");
  const json result = parsed(run_with(cli, "1", spec, "one"));
  REQUIRE(result["best"]["config"]["B"] == 4);
  cli.write("r.json", result.dump());
  run_with(cli, "2", spec, "two");
  for (const auto& more : {std::vector<std::string>{}, {spec}}) {
    const json best = exported(cli, "one", more);
    CHECK(best["config"]["B"] == 4);
    CHECK(best["objective"] == "median least loss");
  }
  CHECK(cli.xtune({"store", "bundle", "-o", cli.path("o.x"), "--store", cli.path("one")}).exit_code == 0);
  CHECK(has(cli.command({"env", "FAC=1", XTUNE_PROGRAM, "best", spec, "--frozen", cli.path("o.x")}).stdout_text,
            "exact: B=4"));
  const CommandResult packed =
      cli.xtune({"store", "bundle", "-o", cli.path("p.x"), "--spec", spec, "--store", cli.path("one")});
  CHECK(packed.exit_code != 0);
  CHECK(has(packed.stderr_text, "runs a program, and only kernels are sent or bundled"));
  const CommandResult tree = cli.xtune({"store", "export", "--format", "tree-json", "--store", cli.path("one")});
  CHECK(tree.exit_code == 2);
  CHECK(has(tree.stderr_text, "the answers of o have the median least loss, and trees compare times"));
  for (const char* before : {"one", "r.json"}) {
    const CommandResult worse = cli.xtune({"diff", cli.path(before), cli.path("two"), "--fail-if-slower", "5%"});
    CHECK(worse.exit_code == 5);
    CHECK_MESSAGE(has(worse.stdout_text, "answer (median least loss), after / before: 2.000, slower"),
                  worse.stdout_text);
  }
}

TEST_CASE("a statistic is an objective, too") {
  const Cli cli;
  const std::string spec = lossy_spec(cli, "statistic = \"min\"\nrace = false\nnoise = 0\n");
  // Every third run of B=1 takes 0.1 ms, the others 9 ms.
  cli.write("o.awk",
            "BEGIN { f = \"n\" b; getline n < f; close(f); print ++n > f\n"
            "printf \"took %g ms\\nloss 1\\n\", (b > 1) ? b : (n % 3) ? 9 : 0.1 }\n");
  REQUIRE(parsed(run_with(cli, "1", spec, "one"))["best"]["config"]["B"] == 1);
  for (const auto& more : {std::vector<std::string>{}, {spec}}) CHECK(exported(cli, "one", more)["config"]["B"] == 1);
}

TEST_CASE("results of a program's file before it changed are of another version") {
  const Cli cli;
  const std::string spec = lossy_spec(cli);
  run_with(cli, "1", spec, "one");
  cli.write("o.awk", "BEGIN { printf \"took %g ms\\nloss 1\\n\", 10 * b }\n");
  const CommandResult later = cli.command(
      {"env", "FAC=1", XTUNE_PROGRAM, "run", spec, "--store", cli.path("one"), "--quiet", "--filter", "B > 1"});
  REQUIRE(later.exit_code == 0);
  CHECK(exported(cli, "one")["config"]["B"] == 2);
  const CommandResult versions = cli.xtune({"diff", cli.path("one")});
  CHECK(versions.exit_code == 0);
  CHECK_MESSAGE(has(versions.stdout_text, "after:  20.0 ms, B=2"), versions.stdout_text);
}

TEST_CASE("a problem that is not there any more is a lost answer") {
  const Cli cli;
  const std::string cases = "[problem]\nN = 1\n[[cases]]\nN = 1\n[[cases]]\nN = 2\n", spec = lossy_spec(cli, "", cases);
  run_with(cli, "1", spec, "two");
  cli.command({"env", "FAC=1", XTUNE_PROGRAM, "run", spec, "-D", "N=1", "--store", cli.path("one"), "--quiet"});
  const CommandResult lost = cli.xtune({"diff", cli.path("two"), cli.path("one"), "--fail-if-slower", "50%"});
  CHECK(lost.exit_code == 5);
  CHECK(has(lost.stdout_text, "N=2 on"));
  const std::string all = lossy_spec(cli, "", cases + "[objective]\nacross = \"worst\"\n");
  CHECK(
      has(cli.command({"env", "FAC=1", XTUNE_PROGRAM, "store", "export", all, "--store", cli.path("two")}).stderr_text,
          "each problem has its own answer: [objective] across"));
  CHECK(cli.xtune({"diff", cli.path("one"), cli.path("two"), "--fail-if-slower", "50%"}).exit_code == 0);
}

TEST_CASE("two devices of one store") {
  const Cli cli;
  const json run = parsed(cli.run(cli.copy_spec("[1]"), {"--quiet"}));
  const std::string name = run["device"]["name"];
  const json answer =
      parsed(cli.xtune({"diff", cli.path("cache"), "--devices", name + "," + name, "--format", "json"}));
  CHECK(answer["summary"]["same"] == 1);
  const CommandResult unknown = cli.xtune({"diff", cli.path("cache"), "--devices", "H100," + name});
  CHECK(unknown.exit_code == 2);
  CHECK(has(unknown.stderr_text, "no record is of a device 'H100'; there are " + name));
  CHECK(cli.xtune({"diff", cli.path("cache"), "--devices", "H100"}).exit_code == 2);
  CHECK(cli.xtune({"diff", cli.path("cache"), cli.path("cache"), "--devices", "a,b"}).exit_code == 2);
}

TEST_CASE("what diff refuses") {
  const Cli cli;
  const std::string a = result_file(cli, "a.json", 1);
  CHECK(cli.xtune({"diff", a, cli.path("nowhere.json")}).exit_code == 2);
  const CommandResult other = cli.xtune({"diff", a, cli.write("c.json", "{\"kernel\": \"k\"}")});
  CHECK(other.exit_code == 2);
  CHECK(has(other.stderr_text, "c.json: no result of `xtune run --format json`"));
  for (const std::string& file : {cli.write("d.txt", "neither\n"), cli.copy_spec()}) {
    const CommandResult foreign = cli.xtune({"diff", file});
    CHECK(foreign.exit_code == 2);
    CHECK(has(foreign.stderr_text, file + ": it has no results"));
    CHECK(has(foreign.stderr_text, "xtune diff STORE --kernel NAME"));
    CHECK_FALSE(has(foreign.stderr_text, "not JSON"));
  }
  CHECK(cli.xtune({"diff", a, a, "--kernel", "other"}).exit_code == 3);
  CHECK(cli.xtune({"diff", a, a, "-D", "N=5"}).exit_code == 3);
  CHECK(cli.xtune({"diff", a, a, "-D", "N=4"}).exit_code == 0);
  CHECK(has(cli.xtune({"diff", a, a, "--fail-if-slower", "5"}).stderr_text, "--fail-if-slower 5: write 5%"));
  CHECK(cli.xtune({"diff", a, a, "--noise", "much"}).exit_code == 2);
}
