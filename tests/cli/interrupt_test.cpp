// Tests of runs that end early: killed, interrupted, resumed; nothing stays behind.
#include <doctest/doctest.h>

#include "cli.hpp"
#include "fakes/process_checks.hpp"

using namespace xtune::system;

using namespace xtune;
using namespace xtune::cli_test;

TEST_CASE("After kill -9 of the driver no worker stays, and the next run measures only what is missing") {
  const Cli cli;
  const std::string spec = cli.slow_copy_spec("[1, 2, 3, 4, 5, 6]");
  std::vector<int> workers;
  {
    Running run(cli, Cli::run_arguments(spec, {}));
    REQUIRE(run.wait_until([&] { return cli.stored_records() >= 2; }));
    workers = children_of(run.process.pid());
    CHECK(workers.size() >= 2);  // at least one that compiles and the one that measures
    kill(run.process.pid(), SIGKILL);
    REQUIRE(run.wait_for_end());
    CHECK(run.signal == SIGKILL);
    for (const int worker : workers) CHECK(fakes::dies_within_deadline(run.loop, worker));
  }
  CHECK_FALSE(fs::is_empty(cli.path("tmp")));
  const std::size_t kept = cli.stored_records();
  CHECK(kept >= 2);
  CHECK(kept < 6);
  const CommandResult rest = cli.run(spec);
  CAPTURE(rest.stderr_text);
  REQUIRE(rest.exit_code == 0);
  const json result = parsed(rest);
  CHECK(result["from_store"] == kept);
  CHECK(result["counts"] == json{{"ok", 6}});
  CHECK(cli.stored_records() == 6);
  // Files that the killed run left in the temporary directory are gone too.
  CHECK(fs::is_empty(cli.path("tmp")));
}

TEST_CASE("Ctrl-C and SIGTERM end a run with what it has, exit code 130") {
  for (const int signum : {SIGINT, SIGTERM}) {
    const Cli cli;
    const std::string spec = cli.slow_copy_spec("[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]");
    Running run(cli, Cli::run_arguments(spec, {}));
    REQUIRE(run.wait_until([&] { return cli.stored_records() >= 2; }));
    const std::vector<int> workers = children_of(run.process.pid());
    kill(run.process.pid(), signum);
    REQUIRE(run.wait_for_end());
    CAPTURE(run.err);
    CHECK(run.exit_code == 130);
    const json result = json::parse(run.out, nullptr, false);
    REQUIRE_FALSE(result.is_discarded());
    CHECK(result["interrupted"] == true);
    CHECK(result["best"]["config"].contains("VARIANT"));
    CHECK(result["counts"]["ok"] == cli.stored_records());
    CHECK(result["counts"]["ok"] < 10);
    CHECK(run.err.find("interrupted") != std::string::npos);
    for (const int worker : workers) CHECK(fakes::dies_within_deadline(run.loop, worker));
    CHECK(fs::is_empty(cli.path("tmp")));
  }
}

TEST_CASE("A torn last line of a killed run is dropped with a warning") {
  const Cli cli;
  const std::string spec = cli.copy_spec("[1, 2]");
  REQUIRE(cli.run(spec).exit_code == 0);
  for (const auto& file : fs::recursive_directory_iterator(cli.path("cache") + "/records"))
    if (file.is_regular_file()) fs::resize_file(file.path(), file.file_size() - 40);
  const CommandResult again = cli.run(spec);
  CHECK(again.exit_code == 0);
  CHECK(again.stderr_text.find("warning") != std::string::npos);
  CHECK(parsed(again)["from_store"] == 1);
}

TEST_CASE("A budget of seconds ends a run in good order") {
  const Cli cli;
  const std::string spec = cli.slow_copy_spec("[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]");
  REQUIRE(cli.run(spec, {"--evals", "1"}).exit_code == 0);  // the artifact, so that the seconds are for measuring
  const CommandResult result = cli.run(spec, {"--seconds", "0.4"});
  CAPTURE(result.stderr_text);
  CHECK((result.exit_code == 0 || result.exit_code == 3));
  const json answer = parsed(result);
  CHECK(answer["interrupted"] == false);
  CHECK(cli.stored_records() < 12);
}
