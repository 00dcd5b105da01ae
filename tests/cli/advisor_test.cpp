// [search] advisor: a program that proposes configurations beside the search.
#include <doctest/doctest.h>

#include <algorithm>

#include "cli/cli.hpp"
#include "fakes/process_checks.hpp"

using namespace xtune::system;
using namespace xtune;
using namespace xtune::cli_test;

namespace {

/// A program whose time is least at A = 20, B = 7. It waits for a file, which the advisor makes with its answer.
struct Advised : Cli {
  Advised() {
    write(
        "program.sh",
        "while [ ! -e $FLAG ]; do sleep 0.01; done; A=$1; B=$2; echo $((5 + (A - 20) * (A - 20) + (B - 7) * (B - 7)))");
  }
  std::string spec(const std::string& search, const std::string& strategy = "local") const {
    return write("model.toml",
                 "[kernel]\nname = \"model\"\n[space]\nconstraints = [\"A * B <= 400\"]\n[space.params]\n"
                 "A = { min = 1, max = 32 }\nB = { min = 1, max = 32 }\n[process]\nrun = \"sh program.sh {A} {B}\"\n"
                 "env = { FLAG = \"answered\" }\ntime = { regex = '(.*)', unit = \"us\" }\n"
                 "[measure]\nrep = 1\nmin_rep = 1\nfinals = 0\nrace = false\n[search]\nevals = 40\nstrategy = \"" +
                     strategy + "\"\n" + search);
  }
  /// The advisor writes each question to a file, and answers with this expression of `question`.
  void advisor(const std::string& answer) const {
    write("advise.py",
          "import json, os, sys, time\nquestion = json.load(sys.stdin)\n"
          "open('questions', 'a').write(json.dumps(question) + '\\n')\n" +
              answer + "\n");
  }
};

constexpr const char* with_advisor = "advisor = \"python3 advise.py\"\nadvisor_every = 10\n";

std::size_t advised(const json& result) {
  return static_cast<std::size_t>(std::count_if(result["trace"].begin(), result["trace"].end(),
                                                [](const json& row) { return row.contains("proposed_by"); }));
}

}  // namespace

TEST_CASE("an advisor's proposals are tried, counted and named") {
  const Advised cli;
  // The program waits for the first answer, so that it comes in time.
  cli.advisor(
      "print(json.dumps([{'A': 20, 'B': 7}, {'A': 20, 'C': 7}] if question['question'] == 1 else []))\n"
      "sys.stdout.flush()\nopen('answered', 'w').close()");
  const std::string spec = cli.spec(with_advisor);
  const CommandResult run = cli.xtune({"run", spec, "--format", "json", "--quiet"});
  INFO(run.stderr_text);
  const json result = parsed(run);
  CHECK(result["trace"].size() == 40);
  CHECK(result["best"]["config"] == json{{"A", 20}, {"B", 7}});
  CHECK(result["best"]["proposed_by"] == "advisor");
  CHECK(result["advisor"]["proposed"] == 2);
  CHECK(result["advisor"]["refused"] == 1);
  CHECK(result["advisor"]["tried"] == 1);
  CHECK(advised(result) == 1);
  const CommandResult again = cli.xtune({"run", spec, "--quiet"});
  CHECK(has(again.stdout_text, "advisor: "));
}

TEST_CASE("an advisor that fails is warned of once, and the search goes on") {
  const Advised cli;
  cli.advisor("open('answered', 'w').close()\nsys.exit('no key')");
  const CommandResult run = cli.xtune({"run", cli.spec(with_advisor), "--format", "json", "--quiet"});
  CHECK(parsed(run)["trace"].size() == 40);
  const std::string words = "the advisor python3 advise.py: it ended with exit code 1: no key; the search goes on";
  const std::size_t at = run.stderr_text.find(words);
  REQUIRE(at != std::string::npos);
  CHECK(run.stderr_text.find(words, at + 1) == std::string::npos);
  const Advised missing;
  missing.write("answered", "");
  const CommandResult started =
      missing.xtune({"run", missing.spec("advisor = \"./no-such-advisor\"\n"), "--format", "json", "--quiet"});
  CHECK(has(started.stderr_text, "the advisor ./no-such-advisor: cannot start ./no-such-advisor"));
  CHECK(parsed(started)["trace"].size() == 40);
}

TEST_CASE("a search does not wait for its advisor, and kills it at the end") {
  const Advised cli;
  cli.write("answered", "");
  cli.advisor("open('pid', 'w').write(str(os.getpid())); time.sleep(600)");
  const CommandResult run = cli.xtune({"run", cli.spec(with_advisor), "--format", "json", "--quiet"});
  CHECK(parsed(run)["trace"].size() == 40);
  if (const std::string pid = read_if_there(cli.path("pid")); !pid.empty()) CHECK(fakes::is_dead(std::stoi(pid)));
}

TEST_CASE("a strategy that does not learn has no advisor, and says so") {
  const Advised cli;
  cli.write("answered", "");
  cli.advisor("print('[]')");
  const CommandResult run = cli.xtune({"run", cli.spec(with_advisor, "random"), "--quiet"});
  CHECK(has(run.stdout_text + run.stderr_text, "the advisor is not asked: the proposals of strategy 'random'"));
  CHECK(read_if_there(cli.path("questions")).empty());
  CHECK(has(cli.xtune({"check", cli.spec("advisor_share = 0.5\n")}).stderr_text,
            "search.advisor_share needs search.advisor"));
  CHECK(has(cli.xtune({"check", cli.spec("advisor = \"a | b\"\n")}).stderr_text, "or give a list of words"));
  CHECK(has(cli.xtune({"check", cli.spec("advisor = []\n")}).stderr_text, "search.advisor is empty"));
}

TEST_CASE("the example of an advisor finds the best configuration") {
  const Cli cli;
  const std::string spec = std::string(XTUNE_SOURCE_DIR) + "/examples/advisor/advised.toml";
  const CommandResult run = cli.xtune({"run", spec, "--format", "json", "--quiet"});
  INFO(run.stderr_text);
  const json result = parsed(run);
  CHECK(result["advisor"]["questions"].get<int>() >= 1);
  CHECK_FALSE(has(run.stderr_text, "the advisor"));
}
