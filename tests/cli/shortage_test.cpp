// Lack of resources on the machine, and interference with a run from outside, are never a configuration's failure.
#include <doctest/doctest.h>

#include <chrono>
#include <thread>

#include "cli/cli.hpp"
#include "fakes/limited_directory.hpp"

using namespace xtune::system;
using namespace xtune;
using namespace xtune::cli_test;

namespace {

/// Programs that print their parameter as their time; limits are in seconds.
std::string program_spec(const Cli& cli, const std::string& build, const std::string& run, const std::string& limit_s) {
  return cli.write("p.toml", "[kernel]\nname = \"p\"\n[space.params]\nT = [1, 2]\n[process]\n" +
                                 (build.empty() ? std::string() : "build = \"" + build + "\"\n") + "run = \"" + run +
                                 "\"\ntime = { regex = 'took ([0-9.]+) ms' }\ntimeout_s = " + limit_s +
                                 "\n[measure]\nrep = 1\nrace = false\nfinals = 0\ntimeout_s = " + limit_s +
                                 "\n[search]\nstrategy = \"exhaustive\"\n");
}

std::vector<std::string> arguments(const std::string& spec) { return {"run", spec, "--format", "json", "--quiet"}; }

void signal_tree(int pid, int signum) {
  kill(pid, signum);
  for (const int child : children_of(pid)) signal_tree(child, signum);
}

}  // namespace

TEST_CASE("A run that was suspended for longer than its limits stores no time-out") {
  const Cli cli;
  // Each configuration waits in its first run for a signal to continue.
  cli.write("wait.sh",
            "if ! [ -e go.$1 ]; then : > started.$1; while ! [ -e go.$1 ]; do sleep 0.02; done; fi\necho took $1 ms\n");
  Running run(cli, arguments(program_spec(cli, "", "sh wait.sh {T}", "2")));
  const std::chrono::milliseconds longer_than_the_limit(2500);
  // Only the driver: the program ends and its worker answers meanwhile.
  REQUIRE(run.wait_until([&] { return fs::exists(cli.path("started.1")); }));
  kill(run.process.pid(), SIGSTOP);
  cli.write("go.1", "");
  std::this_thread::sleep_for(longer_than_the_limit);
  kill(run.process.pid(), SIGCONT);
  // All processes, as a batch system does.
  REQUIRE(run.wait_until([&] { return fs::exists(cli.path("started.2")); }));
  signal_tree(run.process.pid(), SIGSTOP);
  std::this_thread::sleep_for(longer_than_the_limit);
  cli.write("go.2", "");
  signal_tree(run.process.pid(), SIGCONT);
  REQUIRE(run.wait_for_end());
  CAPTURE(run.err);
  CHECK(run.exit_code == 0);
  CHECK(json::parse(run.out, nullptr, false)["counts"] == json{{"ok", 2}});
  for (const json& record : cli.records()) CHECK(record["outcome"] == "ok");
}

TEST_CASE("Where no programs are allowed a run ends before it builds, and stores nothing") {
  const fakes::LimitedDirectory forbids("noexec,size=8m");
  if (!forbids.mounted()) {
    MESSAGE("skipped: this user cannot mount");
    return;
  }
  Cli cli;
  cli.write("make.sh", ": >> built; printf '#!/bin/sh\\necho took %s ms\\n' $1 > $2; chmod +x $2\n");
  const std::string spec = program_spec(cli, "sh make.sh {T} {out}", "{out}", "20");
  cli.set("XTUNE_TMP_DIR", (forbids.path() / "mine").string());
  const CommandResult refused = cli.xtune(arguments(spec));
  CAPTURE(refused.stderr_text);
  CHECK(refused.exit_code == 1);
  CHECK(refused.stderr_text.find("XTUNE_TMP_DIR") != std::string::npos);
  CHECK(refused.stderr_text.find(forbids.path().string()) != std::string::npos);
  CHECK_FALSE(fs::exists(cli.path("built")));
  CHECK(cli.stored_records() == 0);
  cli.set("XTUNE_TMP_DIR", cli.path("tmp"));
  const CommandResult result = cli.xtune(arguments(spec));
  CHECK(parsed(result)["counts"] == json{{"ok", 2}});
}

TEST_CASE("A full temporary directory ends a run, and stores nothing") {
  const fakes::LimitedDirectory full("size=400k");
  if (!full.mounted()) {
    MESSAGE("skipped: this user cannot mount");
    return;
  }
  Cli cli;
  cli.write("make.sh",
            "head -c 1000000 /dev/zero > $2.part; printf '#!/bin/sh\\necho took %s ms\\n' $1 > $2; chmod +x $2\n");
  const std::string spec = program_spec(cli, "sh make.sh {T} {out}", "{out}", "20");
  cli.set("XTUNE_TMP_DIR", full.path().string());
  const CommandResult refused = cli.xtune(arguments(spec));
  CAPTURE(refused.stderr_text);
  CHECK(refused.exit_code == 1);
  CHECK(refused.stderr_text.find("XTUNE_TMP_DIR") != std::string::npos);
  CHECK(cli.stored_records() == 0);
  cli.set("XTUNE_TMP_DIR", cli.path("tmp"));
  CHECK(parsed(cli.xtune(arguments(spec)))["counts"] == json{{"ok", 2}});
}

TEST_CASE("A failure that an earlier version stored for a machine's lack is not served; verify counts it") {
  const Cli cli;
  const std::string spec = program_spec(cli, "", "sh -c 'exit 3'", "20");
  CHECK(cli.xtune(arguments(spec)).exit_code == 3);
  REQUIRE(cli.stored_records() == 2);
  const auto from_store = [&] { return parsed(cli.xtune(arguments(spec)))["from_store"]; };
  CHECK(from_store() == 2);
  for (const auto& file : fs::recursive_directory_iterator(cli.path("cache") + "/records"))
    if (file.path().extension() == ".jsonl") {
      std::string text = read_file(file.path());
      const std::string now = "the program ended with exit code 3";
      const std::string old =
          "the program: cannot start /tmp/p: permission denied (a built one lies where XTUNE_TMP_DIR "
          "says, which must be a file system that allows programs)";
      for (std::size_t at; (at = text.find(now)) != std::string::npos;) text.replace(at, now.size(), old);
      // Earlier versions wrote no checksums.
      const std::string checksum = ",\"checksum\":\"12345678\"";
      for (std::size_t at; (at = text.find(",\"checksum\":")) != std::string::npos;) text.erase(at, checksum.size());
      std::ofstream(file.path(), std::ios::binary) << text;
    }
  const CommandResult verified = cli.xtune({"store", "verify"});
  CHECK(verified.exit_code == 0);
  CHECK(verified.stdout_text.find("2 failures") != std::string::npos);
  CHECK(from_store() == 0);
}
