// xtune audit: repeated tunings, their comparison, and the gates.
#include <doctest/doctest.h>

#include <string>

#include "cli.hpp"

using namespace xtune::cli_test;
using xtune::system::CommandResult;

namespace {

/// A kernel that is wrong for FAULT = 1, its default, with two cases; its reference is a kernel. So the winner is the
/// same in every tuning, however busy the machine is.
std::string faulty_default(const Cli& cli) {
  cli.write("work.cu",
            "extern \"C\" __global__ void work(const float* x, float* y, int n) {\n"
            "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
            "  if (i < n) y[i] = FAULT ? 2 * x[i] : x[i];\n}\n"
            "extern \"C\" __global__ void plain(const float* x, float* y, int n) {\n"
            "  for (int i = 0; i < n; ++i) y[i] = x[i];\n}\n");
  return cli.write("work.toml",
                   "[kernel]\nname = \"work\"\nsource = \"work.cu\"\nentry = \"work\"\n"
                   "[problem]\nN = 2048\n[[cases]]\nN = 2048\n[[cases]]\nN = 4096\n"
                   "[space.params]\nFAULT = [1, 0]\n"
                   "[launch]\ngrid = [\"ceildiv(N, 64)\"]\nblock = [64]\n"
                   "[[args]]\nname = \"x\"\ndtype = \"f32\"\nshape = [\"N\"]\n"
                   "[[args]]\nname = \"y\"\ndtype = \"f32\"\nshape = [\"N\"]\nrole = \"out\"\n"
                   "[[args]]\nname = \"n\"\nkind = \"scalar\"\ndtype = \"i32\"\nvalue = \"N\"\n"
                   "[validate]\nreference = { kernel = \"plain\", grid = [1], block = [1] }\n");
}

CommandResult audit(const Cli& cli, const std::string& spec, std::vector<std::string> more) {
  more.insert(more.begin(), {"audit", spec, "--backend", "host", "--repeats", "2"});
  return cli.xtune(more);
}

}  // namespace

TEST_CASE("audit names winners, flips and regrets, and leaves the store alone") {
  const Cli cli;
  const std::string spec = faulty_default(cli);
  const CommandResult text = audit(cli, spec, {});
  CHECK_MESSAGE(text.exit_code == 0, text.stderr_text);
  CHECK(has(text.stderr_text, "2 tunings of 2 problems, each from an empty store"));
  CHECK(has(text.stderr_text, "repeat 2 of 2, N=4096: FAULT=0"));
  CHECK(has(text.stderr_text, "one repeat took"));
  CHECK(has(text.stdout_text, "problem: N=2048"));
  CHECK(has(text.stdout_text, "work: 4 tunings of 2 problems"));
  CHECK(has(text.stdout_text, "flips: 0 (0.0 %)"));
  CHECK(has(text.stdout_text, "agreement: 100 %"));
  CHECK(has(text.stdout_text, "regret of the default configuration: one failed"));
  CHECK(cli.stored_records() == 0);
  CHECK_FALSE(fs::exists(cli.path("cache/artifacts")));
  CHECK(fs::is_empty(cli.path("tmp")));
}

TEST_CASE("audit's JSON has every tuning, and each configuration's cost") {
  const Cli cli;
  const json answer = parsed(audit(cli, faulty_default(cli), {"--format", "json", "--quiet", "--seed", "5"}));
  CHECK(answer.at("kernel") == "work");
  CHECK(answer.at("tunings") == 4);
  CHECK(answer.at("flips") == 0);
  CHECK(answer.at("interrupted") == false);
  REQUIRE(answer.at("cases").size() == 2);
  const json& one = answer.at("cases").at(0);
  CHECK(one.at("problem") == json{{"N", 2048}});
  CHECK(one.at("repeats").at(0).at("seed") == 5);
  CHECK(one.at("repeats").at(1).at("seed") == 6);
  CHECK(one.at("repeats").at(1).at("winner") == json{{"FAULT", 0}});
  CHECK(one.at("winners").at(0).at("repeats") == 2);
  CHECK(one.at("winners").at(0).at("regret") == 0.0);
  CHECK(one.at("winners").at(0).at("answer") == "winner");
  CHECK(one.at("neighbours").at(0).at("problem") == json{{"N", 4096}});
  CHECK(one.at("neighbours").at(0).at("distance") == 1.0);
  CHECK(one.at("default").at("config") == json{{"FAULT", 1}});
  CHECK(one.at("default").at("regret") == nullptr);
  CHECK(has(one.at("default").at("failure").get<std::string>(), "wrong_result: y: "));
  CHECK(one.at("neighbours").at(0).at("regret") == 0.0);
}

TEST_CASE("audit's gates let pass what flips nowhere and costs nothing, and nothing valid is 3") {
  const Cli cli;
  const std::string spec = faulty_default(cli);
  CHECK(audit(cli, spec, {"--max-flips", "0%", "--max-regret", "0%"}).exit_code == 0);
  // The default is tried first, and it is wrong.
  CHECK(audit(cli, spec, {"--evals", "1"}).exit_code == 3);
}

TEST_CASE("audit refuses what makes no sense") {
  const Cli cli;
  const std::string spec = faulty_default(cli);
  CHECK(audit(cli, spec, {"--repeats", "1"}).exit_code == 2);
  CHECK(audit(cli, spec, {"--max-flips", "3"}).exit_code == 2);
  CHECK(audit(cli, spec, {"--max-regret", "much"}).exit_code == 2);
  CHECK(audit(cli, spec, {"--strategy", "bayes"}).exit_code == 2);
  const CommandResult large = audit(cli, spec, {"--seed", "18446744073709551615"});
  CHECK(large.exit_code == 2);
  CHECK(has(large.stderr_text, "expected a whole number from 0 to 9223372036854775807, got '18446744073709551615'"));
  const CommandResult last = audit(cli, spec, {"--seed", "9223372036854775807"});
  CHECK(last.exit_code == 2);
  CHECK(has(last.stderr_text, "the last of 2 tunings would have a seed above 9223372036854775807"));
  CHECK(audit(cli, spec, {"--recording", "no.json"}).exit_code == 2);
  CHECK(cli.xtune({"audit"}).exit_code == 2);
  const CommandResult space =
      audit(cli, cli.write("space.toml", "[kernel]\nname = \"s\"\n[space.params]\nA = [1, 2]\n"), {});
  CHECK(space.exit_code == 2);
  CHECK(has(space.stderr_text, "describes only a space"));
}

TEST_CASE("audit of a kernel of which nothing passes ends with 3") {
  const Cli cli;
  faulty_default(cli);
  cli.write(
      "work.cu",
      "extern \"C\" __global__ void work(const float*, float* y, int) { y[0] = 1; }\n"
      "extern \"C\" __global__ void plain(const float*, float* y, int n) { for (int i = 0; i < n; ++i) y[i] = 2; }\n");
  const CommandResult result = audit(cli, cli.path("work.toml"), {});
  CHECK(result.exit_code == 3);
  CHECK(has(result.stdout_text, "no configuration passed in any repeat"));
}

TEST_CASE("audit that is interrupted reports its complete tunings, and leaves nothing behind") {
  const Cli cli;
  Running run(cli, {"audit", faulty_default(cli), "--backend", "host", "--repeats", "5000", "--format", "json"});
  REQUIRE(run.wait_until([&] { return has(run.err, "repeat 1 of 5000, N=4096"); }));
  kill(run.process.pid(), SIGINT);
  REQUIRE(run.wait_for_end());
  CHECK(run.exit_code == 130);
  const json answer = json::parse(run.out, nullptr, false);
  REQUIRE_FALSE(answer.is_discarded());
  CHECK(answer.at("interrupted") == true);
  CHECK(answer.at("tunings") >= 2);
  CHECK(answer.at("cases").at(0).at("winners").at(0).at("regret") == nullptr);
  CHECK(fs::is_empty(cli.path("tmp")));
}
