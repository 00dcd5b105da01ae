// Programs that serve ([process] serve): tuned in one go, restarted after hangs and crashes, ended with the run.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "cli/cli.hpp"

using namespace xtune::system;

using namespace xtune;
using namespace xtune::cli_test;

namespace {

/// Its time follows from its parameters; WAY 7 crashes, 8 hangs and 9 prints to standard output.
constexpr const char* server_source = R"(
import json, os, sys, time
open("pids", "a").write("%d\n" % os.getpid())
for line in sys.stdin:
    request = json.loads(line)
    answer = {"protocol": 1}
    if request["do"] == "measure":
        way = request["config"]["WAY"]
        if way == 6: answer = {"error": "compile_failed", "message": "no way 6"}
        elif way == 7: sys.exit("way 7 is closed")
        elif way == 8: time.sleep(600)
        elif way == 9: print("way 9")
        if way < 6:
            ms = way + request["problem"]["N"] * 1e-3
            answer = {"times_ms": [ms] * request["samples"], "validated": True, "metrics": {"rate": 100 / ms}}
    print(json.dumps({"id": request["id"], **answer}), flush=True)
)";

struct Servers : Cli {
  Servers() { write("server.py", server_source); }
  std::string spec(const std::string& ways = "[3, 1, 2]", const std::string& process = "",
                   const std::string& more = "") const {
    return write("model.toml", "[kernel]\nname = \"model\"\n[problem]\nN = 10\n[space.params]\nWAY = " + ways +
                                   "\n[process]\nserve = \"python3 server.py\"\nsources = [\"server.py\"]\n" + process +
                                   "\n[process.metrics]\nrate = { unit = \"1/s\" }\n" + more);
  }
  std::size_t starts() const {
    const std::string pids = read_if_there(path("pids"));
    return static_cast<std::size_t>(std::count(pids.begin(), pids.end(), '\n'));
  }
};

}  // namespace

TEST_CASE("a server is tuned like a program: one start, checks, metrics, finals, the store") {
  const Servers cli;
  const std::string spec = cli.spec("[3, 1, 2, 4, 5]", "validate = true");
  const json first = parsed(cli.xtune({"run", spec, "--format", "json", "--quiet"}));
  CHECK(first["best"]["config"] == json{{"WAY", 1}});
  CHECK(first["best"]["time_ms"].get<double>() == doctest::Approx(1.01));
  CHECK(first["best"]["metrics"]["rate"].get<double>() == doctest::Approx(100 / 1.01));
  CHECK(first["counts"].value("ok", 0) + first["counts"].value("pruned", 0) == 5);
  CHECK(cli.starts() == 1);
  const json again = parsed(cli.xtune({"run", spec, "--format", "json", "--quiet"}));
  CHECK(again["from_store"] == 5);
  CHECK(cli.starts() == 1);
  CHECK_FALSE(has(cli.xtune({"run", spec, "--quiet"}).stdout_text, "not validated"));
  CHECK(has(cli.xtune({"run", cli.spec(), "--quiet"}).stdout_text,
            "not validated: the spec does not have [process] validate"));
  CHECK(has(cli.xtune({"check", spec}).stdout_text, "(a server)"));
  // Another program is another measurement.
  cli.write("server.py", std::string(server_source) + "\n# changed\n");
  CHECK(parsed(cli.xtune({"run", spec, "--format", "json", "--quiet"}))["from_store"] == 0);
}

TEST_CASE("a server that crashes, hangs or prints loses only that configuration") {
  const Servers cli;
  const std::string spec =
      cli.spec("[6, 2, 7, 3, 8, 1, 9]", "timeout_s = 1\nstart_timeout_s = 60", "[measure]\nfinals = 0\n");
  const CommandResult result = cli.xtune({"run", spec, "--format", "json", "--quiet", "--strategy", "exhaustive"});
  INFO(result.stderr_text);
  const json json = parsed(result);
  CHECK(json["best"]["config"]["WAY"] == 1);
  std::map<int, std::pair<std::string, std::string>> outcomes;
  for (const auto& row : json["trace"]) outcomes[row["config"]["WAY"]] = {row["outcome"], row.value("message", "")};
  REQUIRE(outcomes.size() == 7);
  CHECK(outcomes[6] == std::pair<std::string, std::string>("compile_failed", "no way 6"));
  CHECK(outcomes[7].first == "crashed");
  CHECK(has(outcomes[7].second, "ended with exit code 1 before it answered: way 7 is closed"));
  CHECK(outcomes[8].first == "timed_out");
  CHECK(outcomes[9].first == "launch_failed");
  CHECK(has(outcomes[9].second, "of the server's standard output is not a JSON object: 'way 9'"));
}

TEST_CASE("a server that cannot start ends the run with its standard error") {
  const Servers cli;
  cli.write("server.py", "import no_such_module_of_xtune\n");
  const CommandResult result = cli.xtune({"run", cli.spec("[1, 2, 3, 4, 5]"), "--quiet"});
  CHECK(result.exit_code != 0);
  CHECK(has(result.stderr_text, "the server did not start: it ended with exit code 1"));
  CHECK(has(result.stderr_text, "No module named 'no_such_module_of_xtune'"));
}

TEST_CASE("--dry-run prints lines that start a server with its first requests") {
  const Servers cli;
  const std::string spec = cli.spec("[2]", "validate = true");
  const CommandResult text = cli.xtune({"run", spec, "--dry-run"});
  CHECK(has(text.stdout_text, "printf '%s\\n' '{\"do\":\"start\",\"protocol\":1,\"id\":0}' "));
  CHECK(has(text.stdout_text, " | python3 server.py  # WAY=2"));
  CHECK(cli.starts() == 0);
  const json dry = parsed(cli.xtune({"run", spec, "--dry-run", "--format", "json"}));
  CHECK(dry[0]["serve"] == json{"python3", "server.py"});
  CHECK(dry[0]["requests"][1] == json{{"id", 1},
                                      {"do", "measure"},
                                      {"config", {{"WAY", 2}}},
                                      {"problem", {{"N", 10}}},
                                      {"samples", 1},
                                      {"validate", true},
                                      {"check", true}});
  const std::string line = text.stdout_text.substr(text.stdout_text.find("printf"));
  const CommandResult shell = run_command({"/bin/sh", "-c", "cd " + cli.folder.path().string() + " && " + line});
  CHECK(has(shell.stdout_text, "\"times_ms\": [2.01]"));
}

TEST_CASE("a spec cannot mix run and serve") {
  const Servers cli;
  const auto complaint = [&](const std::string& process) {
    return cli.xtune({"check", cli.spec("[1]", process)}).stderr_text;
  };
  CHECK(has(complaint("run = \"true\""), "[process] has both run and serve"));
  CHECK(has(complaint("time = { json = \"t\" }"), "process.time is about the runs of a program"));
  CHECK(has(complaint("check = \"true\""), "process.validate of a server"));
  CHECK(has(complaint("outputs = [\"a\"]"), "a server's files belong below {tmp}"));
  CHECK(has(cli.xtune({"check", cli.spec("[1]", "", "heat = { json = \"t\" }")}).stderr_text, "here is only the unit"));
  const std::string other = cli.write("other.toml",
                                      "[kernel]\nname = \"m\"\n[space.params]\nA = [1]\n[process]\nrun = \"true\"\n"
                                      "start_timeout_s = 3\n");
  CHECK(has(cli.xtune({"check", other}).stderr_text, "it goes only with serve"));
}

TEST_CASE("the example of a server tunes as it stands") {
  const Cli cli;
  const std::string spec = std::string(XTUNE_SOURCE_DIR) + "/examples/process/unroll_server.toml";
  const CommandResult result = cli.xtune({"run", spec, "--format", "json", "--quiet", "-D", "N=8"});
  INFO(result.stderr_text);
  const json json = parsed(result);
  CHECK(json["counts"].value("ok", 0) + json["counts"].value("pruned", 0) == 12);
  CHECK(json["counts"]["compile_failed"] == 3);
  CHECK(json["best"]["metrics"]["MFLOPS"].get<double>() > 0);
}
