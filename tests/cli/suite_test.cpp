// Several specs in one command: suites and lists of files.
#include <doctest/doctest.h>

#include "cli.hpp"

using namespace xtune::system;

using namespace xtune;
using namespace xtune::cli_test;

namespace {

/// Two good specs and, between them, one whose kernel gives wrong results and one that is not a spec.
std::string mixed_suite(const Cli& cli) {
  cli.copy_spec("[1, 2]");
  std::string wrong = read_file(cli.path("copy.toml"));
  wrong.replace(wrong.find("copy.cu"), 7, "wrong.cu");
  wrong.replace(wrong.find("\"copy\""), 6, "\"wrong\"");
  cli.write("wrong.toml", wrong);
  cli.write("wrong.cu",
            "extern \"C\" __global__ void copy(const float* x, float* y, int n) {\n"
            "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
            "  if (i < n) y[i] = x[i] + 1;\n}\n");
  cli.write("broken.toml", "[kernel]\nnam = \"x\"\n");
  return cli.write("suite.toml",
                   "[[suite]]\nspec = \"copy.toml\"\ncases = [{ N = 64 }, { N = 128 }]\n"
                   "[[suite]]\nspec = \"broken.toml\"\n"
                   "[[suite]]\nspec = \"wrong.toml\"\n"
                   "[[suite]]\nspec = \"copy.toml\"\ndefines = { VARIANT = 2 }\n");
}

}  // namespace

TEST_CASE("One spec that fails costs none of the others; the exit code is the worst") {
  const Cli cli;
  const CommandResult run = cli.run(mixed_suite(cli));
  CAPTURE(run.stderr_text);
  CHECK(run.exit_code == 2);
  const json result = json::parse(run.stdout_text);
  REQUIRE(result.is_array());
  REQUIRE(result.size() == 5);
  CHECK(result[0]["problem"] == json{{"N", 64}});
  CHECK(result[0]["counts"] == json{{"ok", 2}});
  CHECK(result[0]["spec"] == cli.path("copy.toml"));
  CHECK(result[1]["problem"] == json{{"N", 128}});
  CHECK(result[2]["spec"] == cli.path("broken.toml"));
  CHECK(result[2]["error"]["kind"] == "invalid_spec");
  CHECK(result[2]["error"]["line"] == 2);
  CHECK(has(run.stderr_text, "broken.toml:2:1"));
  CHECK(result[3]["kernel"] == "wrong");
  CHECK(result[3]["best"].is_null());
  CHECK(result[3]["counts"] == json{{"wrong_result", 2}});
  CHECK(result[4]["problem"] == json{{"N", 4096}});
  CHECK(result[4]["best"]["config"] == json{{"VARIANT", 2}});
}

TEST_CASE("Processes of a job begin at as many different cases as there are") {
  for (const auto& [rank, first] : {std::pair("0", 64), {"1", 256}, {"2", 128}, {"3", 512}, {"4", 64}}) {
    Cli cli;
    cli.copy_spec("[1]");
    const std::string suite = cli.write("suite.toml",
                                        "[[suite]]\nspec = \"copy.toml\"\ncases = [{ N = 64 }, { N = 128 }]\n"
                                        "[[suite]]\nspec = \"copy.toml\"\ncases = [{ N = 256 }, { N = 512 }]\n");
    for (const auto& [name, value] : {std::pair("PROCID", rank), {"NTASKS", "5"}, {"JOB_ID", "7"}, {"STEP_ID", "0"}})
      cli.env.emplace_back("SLURM_" + std::string(name), value);
    const CommandResult run = cli.run(suite, {"--walltime", "none"});
    CAPTURE(run.stderr_text);
    REQUIRE(run.exit_code == 0);
    const std::vector<json> records = cli.records();
    REQUIRE(records.size() == 4);
    const auto earliest = std::min_element(records.begin(), records.end(), [](const json& a, const json& b) {
      return a["unix_time_ms"] < b["unix_time_ms"];
    });
    CHECK((*earliest)["problem"] == json{{"N", first}});
  }
}

TEST_CASE("Several files are run one after the other; one entry is a list too") {
  const Cli cli;
  const std::string copy = cli.copy_spec("[1]");
  const CommandResult both = cli.xtune({"run", copy, copy, "--backend", "host", "--format", "json"});
  CAPTURE(both.stderr_text);
  REQUIRE(both.exit_code == 0);
  const json result = json::parse(both.stdout_text);
  REQUIRE(result.size() == 2);
  CHECK(result[0]["from_store"] == 0);
  CHECK(result[1]["from_store"] == 1);

  const std::string suite = cli.write("one.toml", "[[suite]]\nspec = \"copy.toml\"\nsearch = { evals = 1 }\n");
  const CommandResult one = cli.run(suite);
  REQUIRE(one.exit_code == 0);
  CHECK(json::parse(one.stdout_text).size() == 1);
}

TEST_CASE("A suite's own mistake is reported at its place, before anything runs") {
  const Cli cli;
  cli.copy_spec("[1]");
  const CommandResult run = cli.run(cli.write("suite.toml", "[[suite]]\nspec = \"copy.toml\"\ncase = []\n"));
  CHECK(run.exit_code == 2);
  CHECK(parsed(run)["error"]["line"] == 3);
  CHECK(has(run.stderr_text, "suite.toml:3:1: unknown key 'case'"));

  // An unknown name of a strategy is reported when the spec is read.
  const CommandResult strategy =
      cli.run(cli.write("strategy.toml", "[[suite]]\nspec = \"copy.toml\"\nsearch = { strategy = \"annealign\" }\n"));
  CHECK(strategy.exit_code == 2);
  CHECK(has(strategy.stderr_text, "strategy.toml:3:23: unknown strategy 'annealign'"));
}

TEST_CASE("Every spec is read before the first one runs") {
  const Cli cli;
  const std::string copy = cli.copy_spec("[1]"), missing = cli.path("missing.toml");
  const std::string broken = cli.write("broken.toml", "[kernel]\nnam = \"x\"\n");
  for (const char* command : {"run", "compile"}) {
    CAPTURE(command);
    const CommandResult both = cli.xtune(
        {command, copy, missing, broken, "--backend", "host", "--format", "json", "--store", cli.path("new")});
    CAPTURE(both.stderr_text);
    CHECK(both.exit_code == 2);
    CHECK(parsed(both)["error"]["kind"] == "invalid_argument");
    // Each mistake once, and the file's name once in it.
    CHECK(has(both.stderr_text, "xtune: cannot read " + missing + ": No such file or directory\n"));
    CHECK(both.stderr_text.find("missing.toml") == both.stderr_text.rfind("missing.toml"));
    CHECK(has(both.stderr_text, "broken.toml:2:1: unknown key 'nam'"));
    CHECK(!fs::exists(cli.path("new")));
  }

  // A suite's broken entry costs only its own turn, and is reported before anything runs too.
  const CommandResult suite = cli.xtune({"run", mixed_suite(cli), "--backend", "host"});
  const std::string& text = suite.stderr_text;
  CAPTURE(text);
  REQUIRE(has(text, "broken.toml:2:1"));
  CHECK(text.find("broken.toml:2:1") < text.find("copy: host on"));
  CHECK(text.find("broken.toml:2:1") == text.rfind("broken.toml:2:1"));
}

TEST_CASE("check and compile take suites") {
  const Cli cli;
  const std::string suite = mixed_suite(cli);
  const CommandResult check = cli.xtune({"check", suite, "--backend", "host", "--format", "json"});
  CHECK(check.exit_code == 2);
  const json checked = json::parse(check.stdout_text);
  REQUIRE(checked.size() == 4);
  CHECK(checked[0]["valid"] == true);
  CHECK(checked[0]["cases"] == 2);
  CHECK(checked[1]["valid"] == false);
  CHECK(checked[1]["error"]["line"] == 2);

  const CommandResult compile = cli.xtune({"compile", suite, "--backend", "host", "--format", "json"});
  CHECK(compile.exit_code == 2);
  const json compiled = json::parse(compile.stdout_text);
  CHECK(compiled.size() == 2 * 2 + 1 + 2 + 1);  // every case of the first
  CHECK(compiled[0]["spec"] == cli.path("copy.toml"));
  CHECK(compiled[0]["problem"] == json{{"N", 64}});
  CHECK(compiled[3]["problem"] == json{{"N", 128}});
  CHECK(compiled[0]["outcome"] == "ok");
}

TEST_CASE("--dry-run prints the commands of every program of a suite") {
  const Cli cli;
  cli.write("echo.toml",
            "[kernel]\nname = \"echo\"\n[process]\nrun = \"echo {X}\"\n"
            "[space.params]\nX = [1, 2]\n");
  const std::string suite = cli.write("suite.toml",
                                      "[[suite]]\nspec = \"echo.toml\"\n[[suite]]\nspec = \"echo.toml\"\n"
                                      "defines = { X = 2 }\n");
  const CommandResult run = cli.xtune({"run", suite, "--dry-run", "--format", "json"});
  CAPTURE(run.stderr_text);
  REQUIRE(run.exit_code == 0);
  const json commands = json::parse(run.stdout_text);
  REQUIRE(commands.size() == 3);
  CHECK(commands[2]["run"] == json{"echo", "2"});
  CHECK(commands[2]["spec"] == cli.path("echo.toml"));
}
