// The store's commands on a store that a run has filled, and runs whose store is of no use.
#include <doctest/doctest.h>

#include "cli.hpp"

using namespace xtune;
using namespace xtune::cli_test;

namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// stdout of a command that must succeed.
std::string done(const CommandResult& result) {
  INFO("stderr: " << result.stderr_text);
  CHECK(result.exit_code == 0);
  return result.stdout_text;
}

}  // namespace

TEST_CASE("store lists, checks, merges, exports and packs what a run left") {
  const Cli cli;
  const json run = parsed(cli.run(cli.copy_spec()));
  const json best = run["best"]["config"];
  const json list = parsed(cli.xtune({"store", "ls", "--format", "json"}));
  REQUIRE(list["kernels"].size() == 1);
  CHECK(list["kernels"][0]["kernel"] == "copy");
  CHECK(list["kernels"][0]["records"] == 3);
  CHECK(list["kernels"][0]["answers"] == 1);
  CHECK(list["artifacts"]["count"].get<int>() >= 1);
  const std::string arch = list["kernels"][0]["arch"];
  CHECK(has(done(cli.xtune({"store", "ls"})), "3 records"));
  CHECK(has(done(cli.xtune({"store", "verify"})), "nothing damaged"));
  CHECK(parsed(cli.xtune({"store", "gc", "--dry-run", "--format", "json"}))["removed"].empty());

  const std::string other = cli.path("other");
  CHECK(parsed(cli.xtune({"store", "merge", cli.path("cache"), "--store", other, "--format", "json"}))["records"] == 3);
  CHECK(parsed(cli.xtune({"store", "merge", cli.path("cache"), "--store", other, "--format", "json"}))["records"] == 0);
  CHECK(parsed(cli.run(cli.copy_spec(), {"--store", other}))["from_store"] == 3);

  const json winners = json::parse(done(cli.xtune({"store", "export"})));
  REQUIRE(winners.size() == 1);
  CHECK(winners[0]["config"] == best);
  CHECK(has(done(cli.xtune({"store", "export", "--format", "header"})), "namespace xtune_best::copy"));
  done(cli.xtune({"store", "export", "--format", "kernel-tuner", "-D", "N=4096", "-o", cli.path("t4.json")}));
  CHECK(json::parse(read_file(cli.path("t4.json")))["results"].size() == 3);
  const json bundle = parsed(cli.xtune(
      {"store", "bundle", "-o", cli.path("copy.xtune"), "--arch", arch, "--kernel", "copy", "--format", "json"}));
  CHECK(bundle["records"] == 1);
  CHECK(bundle["artifacts"] == 1);
  CHECK(bundle["bytes"] == fs::file_size(cli.path("copy.xtune")));
}

TEST_CASE("damage is an exit code, a line, and repaired on request") {
  const Cli cli;
  REQUIRE(cli.run(cli.copy_spec()).exit_code == 0);
  fs::path file;
  for (const auto& entry : fs::recursive_directory_iterator(cli.path("cache") + "/records"))
    if (entry.is_regular_file()) file = entry.path();
  std::ofstream(file, std::ios::app) << "rubbish\n";
  const CommandResult found = cli.xtune({"store", "verify"});
  CHECK(found.exit_code == 1);
  CHECK(has(found.stdout_text, file.string() + ":5: not JSON"));
  CHECK(has(found.stdout_text, "--repair"));
  CHECK(parsed(cli.xtune({"store", "verify", "--format", "json"}))["sound"] == false);
  CHECK(has(done(cli.xtune({"store", "verify", "--repair"})), "moved aside"));
  CHECK(has(done(cli.xtune({"store", "verify"})), "3 sound records"));
  CHECK(read_file(file.string() + ".damaged") == "rubbish\n");
}

TEST_CASE("store says what is wrong with its arguments") {
  const Cli cli;
  const std::vector<std::vector<std::string>> bad = {{"store"},
                                                     {"store", "list"},
                                                     {"store", "ls"},  // there is none yet
                                                     {"store", "merge", cli.path("nowhere")},
                                                     {"store", "merge"},
                                                     {"store", "export", "--format", "xml"},
                                                     {"store", "bundle"},
                                                     {"store", "gc", "--older-than", "30"},
                                                     {"store", "gc", "--older-than", "d"},
                                                     {"store", "gc", "--max-size", "10X"},
                                                     {"store", "gc", "--max-size", "99999999999999999999G"}};
  for (const auto& arguments : bad) {
    CAPTURE(arguments.back());
    const CommandResult result = cli.xtune(arguments);
    CHECK(result.exit_code == 2);
    CHECK_FALSE(result.stderr_text.empty());
  }
  fs::create_directories(cli.path("cache"));
  CHECK(cli.xtune({"store", "gc", "--records"}).exit_code == 2);
  CHECK(cli.xtune({"store", "export", "--format", "header"}).exit_code == 3);
  CHECK(cli.xtune({"store", "bundle", "-o", cli.path("b")}).exit_code == 3);
  for (const char* name : {"ls", "verify", "gc", "merge", "export", "bundle"}) {
    const CommandResult help = cli.xtune({"store", name, "--help"});
    CHECK(has(help.stdout_text, std::string("xtune store ") + name));
    CHECK(has(help.stdout_text, "Example"));
  }
}

TEST_CASE("a run gives its result also where the store can hold nothing, or artifacts alone fail") {
  const Cli cli;
  const std::string spec = cli.copy_spec();
  fs::create_directories(cli.path("half"));
  cli.write("half/artifacts", "no folder");
  cli.write("file", "no folder");
  for (const std::string& store :
       {cli.path("half"), cli.path("file"), std::string("/dev/null/store"), std::string("/proc/store")}) {
    CAPTURE(store);
    const CommandResult run = cli.run(spec, {"--store", store});
    CHECK(run.exit_code == 0);
    CHECK(parsed(run)["best"].is_object());
    CHECK(has(run.stderr_text, "kept for this run alone"));
  }
  // What could be stored was.
  CHECK(parsed(cli.run(spec, {"--store", cli.path("half")}))["from_store"] == 3);
}
