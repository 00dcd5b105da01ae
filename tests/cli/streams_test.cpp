// Tests of standard streams and logs that are closed, full or a terminal: what is lost there must not lose the run.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include "cli.hpp"

using namespace xtune::base;

using namespace xtune;
using namespace xtune::cli_test;

namespace {

/// `run SPEC --backend host ...` with the shell's redirections.
CommandResult redirected(const Cli& cli, const std::string& spec, const std::string& redirections,
                         const std::string& options = "") {
  return cli.command(
      {"/bin/sh", "-c", "exec \"$0\" run \"$1\" --backend host " + options + " " + redirections, XTUNE_PROGRAM, spec});
}

}  // namespace

TEST_CASE("A run does its work with any of the standard streams closed") {
  const std::string closings[] = {"<&-", ">&-", "2>&-", "<&- >&- 2>&-"};
  for (const std::string& closing : closings) {
    CAPTURE(closing);
    const Cli cli;
    const CommandResult run = redirected(cli, cli.copy_spec("[1, 2]"), closing, "--format json");
    CAPTURE(run.stderr_text);
    CHECK(run.signal == 0);
    CHECK(run.exit_code == 0);
    CHECK(cli.stored_records() == 2);
    if (!has(closing, ">&-") || closing == "2>&-") CHECK(parsed(run)["counts"] == json{{"ok", 2}});
  }
}

TEST_CASE("Progress that nobody reads, or that does not fit, costs the progress alone") {
  // A pipe whose reader has come and gone before xtune starts.
  const std::string broken = "mkfifo \"$2\"; : <\"$2\" & exec 3>\"$2\"; wait; ", full = "exec 3>/dev/full; ";
  for (const std::string& prepare : {broken, full}) {
    CAPTURE(prepare);
    const Cli cli;
    const CommandResult run =
        cli.command({"/bin/sh", "-c", prepare + "exec \"$0\" run \"$1\" --backend host --format json 2>&3",
                     XTUNE_PROGRAM, cli.copy_spec("[1, 2]"), cli.path("pipe")});
    CHECK(run.signal == 0);
    CHECK(run.exit_code == 0);
    CHECK(parsed(run)["counts"] == json{{"ok", 2}});
  }
}

TEST_CASE("Results that cannot be written are an error, as text and as JSON") {
  const Cli cli;
  const std::string spec = cli.copy_spec("[1]");
  REQUIRE(cli.run(spec).exit_code == 0);
  for (const std::string format : {"text", "json"}) {
    CAPTURE(format);
    const CommandResult full = redirected(cli, spec, ">/dev/full", "--format " + format);
    CHECK(full.exit_code == 1);
    CHECK(has(full.stderr_text, "standard output"));
    const CommandResult space =
        cli.command({"/bin/sh", "-c", "exec \"$0\" space \"$1\" --backend host --format " + format + " >/dev/full",
                     XTUNE_PROGRAM, spec});
    CHECK(space.exit_code == 1);
  }
}

TEST_CASE("A log that cannot be written costs one warning that names it") {
  const Cli cli;
  const CommandResult run = cli.run(cli.copy_spec("[1, 2]"), {"--log", "/dev/full"});
  CHECK(run.exit_code == 0);
  CHECK(parsed(run)["counts"] == json{{"ok", 2}});
  const std::size_t at = run.stderr_text.find("warning: --log /dev/full");
  CHECK(at != std::string::npos);
  CHECK(run.stderr_text.find("warning: --log /dev/full", at + 1) == std::string::npos);
}

TEST_CASE("XTUNE_LOG names the log of a run that names none") {
  Cli cli;
  const std::string spec = cli.copy_spec("[1]");
  cli.env.emplace_back("XTUNE_LOG", cli.path("default.txt"));
  REQUIRE(cli.run(spec).exit_code == 0);
  CHECK(has(read_file(cli.path("default.txt")), "VARIANT=1 | ok"));
  fs::remove(cli.path("default.txt"));
  REQUIRE(cli.run(spec, {"--log", cli.path("named.txt")}).exit_code == 0);
  CHECK(has(read_file(cli.path("named.txt")), "VARIANT=1 | ok"));
  CHECK_FALSE(fs::exists(cli.path("default.txt")));
}

TEST_CASE("A worker on a terminal says that it is internal, instead of waiting for messages") {
  const Cli cli;
  const int terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (terminal < 0) {
    MESSAGE("skipped: there are no pseudo-terminals here (no devpts)");
    return;
  }
  REQUIRE(grantpt(terminal) == 0);
  REQUIRE(unlockpt(terminal) == 0);
  const std::string name = ptsname(terminal);
  for (const std::string worker : {"compile", "bench"})
    for (const std::string stream : {"<", ">"}) {
      CAPTURE(worker);
      CAPTURE(stream);
      CommandOptions options;
      options.env = cli.env;
      options.timeout_ms = 20'000;
      const CommandResult result = run_command(
          {"/bin/sh", "-c", "exec \"$0\" worker " + worker + " " + stream + "\"$1\"", XTUNE_PROGRAM, name}, options);
      CHECK(result.exit_code == 2);
      CHECK(has(result.stderr_text, "internal"));
      CHECK(result.stdout_text.empty());
    }
  close(terminal);
}
