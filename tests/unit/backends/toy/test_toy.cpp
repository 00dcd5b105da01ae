// A backend is one directory and one line in backends.def: all commands of the program then support it.
#include <doctest/doctest.h>

#include <algorithm>

#include "cli/cli.hpp"

using namespace xtune::cli_test;

TEST_CASE("A directory and a line in the table make a backend") {
  const Cli cli;
  const std::string spec = cli.copy_spec();

  const json backends = parsed(cli.xtune({"devices", "--format", "json"}))["backends"];
  const auto toy = std::find_if(backends.begin(), backends.end(), [](const json& one) { return one["name"] == "toy"; });
  REQUIRE(toy != backends.end());
  CHECK((*toy)["devices"][0]["name"] == "a toy");

  const json run = parsed(cli.xtune({"run", spec, "--backend", "toy", "--format", "json"}));
  CHECK(run["device"]["backend"] == "toy");
  CHECK(run["counts"]["ok"] == 3);
  CHECK(cli.records().size() == 3);
  for (const json& record : cli.records()) CHECK(record["device"]["backend"] == "toy");

  const json best = parsed(cli.xtune({"best", spec, "--backend", "toy", "--format", "json"}));
  CHECK(best["best"]["config"] == run["best"]["config"]);
  const auto elsewhere = cli.xtune({"best", spec, "--backend", "host", "--format", "json"});
  CHECK(elsewhere.exit_code == 3);  // nothing was measured there

  const auto unknown = cli.xtune({"run", spec, "--backend", "toi"});
  CHECK(unknown.exit_code == 2);
  CHECK(has(unknown.stderr_text, "toy"));
}
