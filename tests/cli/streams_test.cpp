// Standard streams and logs that are closed, full or a terminal: losing output there must not lose the run.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli.hpp"

using namespace xtune::system;

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

TEST_CASE("Progress that cannot be written loses only the progress") {
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

TEST_CASE("Output whose reader has gone ends quietly, as that of other filters") {
  const Cli cli;
  const std::string spec = cli.copy_spec("[1]");
  REQUIRE(cli.run(spec).exit_code == 0);
  for (const std::string command : {"store export", "store export --format csv", "store ls", "help"}) {
    CAPTURE(command);
    const CommandResult result =
        cli.command({"/bin/sh", "-c",
                     "rm -f \"$1\"; mkfifo \"$1\"; : <\"$1\" & exec 3>\"$1\"; wait; exec \"$0\" " + command + " >&3",
                     XTUNE_PROGRAM, cli.path("pipe")});
    CHECK(result.stderr_text.empty());
    CHECK(result.signal == SIGPIPE);
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

TEST_CASE("On a terminal a run says at once what it waits for, in the terminal's columns; in a pipe nothing changes") {
  const Cli cli;
  const std::string spec = cli.copy_spec("[1, 2]");
  const int terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (terminal < 0) {
    MESSAGE("skipped: there are no pseudo-terminals here (no devpts)");
    return;
  }
  REQUIRE(grantpt(terminal) == 0);
  REQUIRE(unlockpt(terminal) == 0);
  winsize size{};
  size.ws_row = 24;
  size.ws_col = 50;
  REQUIRE(ioctl(terminal, TIOCSWINSZ, &size) == 0);
  // Kept open, so that the output can be read; it is small enough for the terminal's buffer.
  const int kept = open(ptsname(terminal), O_RDWR | O_NOCTTY | O_CLOEXEC);
  REQUIRE(kept >= 0);
  const CommandResult run =
      cli.command({"/bin/sh", "-c", "unset COLUMNS; XTUNE_BUSY=yes exec \"$0\" run \"$1\" --backend host 2>\"$2\"",
                   XTUNE_PROGRAM, spec, ptsname(terminal)});
  CHECK(run.exit_code == 0);
  std::string shown(65536, '\0');
  const ssize_t length = read(terminal, shown.data(), shown.size());
  REQUIRE(length > 0);
  shown.resize(static_cast<std::size_t>(length));
  CAPTURE(shown);
  CHECK(has(shown, "\r\x1b[K[0/2] compiling "));
  CHECK(has(shown, "[2/2] best "));
  CHECK(has(shown,
            " a measurement was disturbed (the CPUs\r\n"
            "         were busy); such results are marked as\r\n"
            "         tainted, and a later run measures them\r\n"
            "         again\r\n"));
  for (std::size_t at = shown.find("\x1b[K["); at != std::string::npos; at = shown.find("\x1b[K[", at + 1))
    CHECK(shown.find_first_of("\r\n", at) - at - 3 < 50);
  close(kept);
  close(terminal);

  const Cli other;
  CHECK_FALSE(has(other.xtune({"run", other.copy_spec("[1, 2]"), "--backend", "host"}).stderr_text, "[0/2]"));
}

TEST_CASE("With a width every line for people fits, and what they copy stays whole; without one nothing is wrapped") {
  Cli cli;
  const std::string spec = cli.copy_spec("[1, 2]"), wrong = cli.write("wrong.toml", "[kernel]\nname = 1\n");
  const std::vector<std::vector<std::string>> commands{{"run", spec, "--backend", "host"},
                                                       {"run", spec, "--backend", "host", "--evals", "x"},
                                                       {"run", spec, "--backend", "vulkan"},
                                                       {"run", spec, "--backend", "hip", "--device", "7"},
                                                       {"best", spec, "--backend", "host"},
                                                       {"best", spec, "--backend", "host", "-D", "N=512"},
                                                       {"why", spec, "--backend", "host", "-D", "VARIANT=9"},
                                                       {"show", spec, "--backend", "host", "--config", "VARIANT=7"},
                                                       {"validate", spec, "--backend", "host"},
                                                       {"compile", spec, "--backend", "host"},
                                                       {"space", spec, "--backend", "host", "--rows", "2"},
                                                       {"check", spec},
                                                       {"check", wrong},
                                                       {"diff", spec},
                                                       {"candidates", spec},
                                                       {"select", spec, "--backend", "host"},
                                                       {"devices"},
                                                       {"store", "ls"},
                                                       {"store", "list"},
                                                       {"status", "nothing"},
                                                       {"rnu"}};
  const auto longest = [](const std::string& text) {
    std::size_t columns = 0;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);)  // a path may be longer, on its own line
      if (line.find_first_of(" `", line.find_first_not_of(' ')) != std::string::npos)
        columns = std::max(columns, line.size());
    return columns;
  };
  std::string plain;
  for (const auto& words : commands) plain += cli.xtune(words).stdout_text;
  CHECK(longest(plain) > 80);
  cli.env.emplace_back("COLUMNS", "80");
  for (const auto& words : commands) {
    const CommandResult result = cli.xtune(words);
    CAPTURE(words);
    CAPTURE(result.stdout_text);
    CAPTURE(result.stderr_text);
    CHECK(longest(result.stdout_text) <= 80);
    CHECK(longest(result.stderr_text) <= 80);
  }
}

TEST_CASE("Colours: never into a pipe unless asked for; --color goes before NO_COLOR, and that before CLICOLOR_FORCE") {
  const std::string escape = "\x1b[", best = "\x1b[1;32mbest: VARIANT=1\x1b[0m\n";
  Cli cli;
  const std::string spec = cli.copy_spec("[1]");
  const auto run = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words{"run", spec, "--backend", "host"};
    words.insert(words.end(), more.begin(), more.end());
    return cli.xtune(words);
  };
  const CommandResult plain = run({});
  CHECK_FALSE(has(plain.stdout_text + plain.stderr_text, escape));
  CHECK(has(plain.stdout_text, "\nbest: VARIANT=1\n"));
  CHECK(has(run({"--color", "always"}).stdout_text, best));
  CHECK(has(run({"--color=always"}).stdout_text, best));
  CHECK_FALSE(has(run({"--color", "always", "--format", "json"}).stdout_text, escape));
  CHECK(has(cli.xtune({"run", "--color", "always", "--no-such-option"}).stderr_text,
            "\x1b[1;31mxtune:\x1b[0m unknown option"));
  const CommandResult wrong = run({"--color", "sometimes"});
  CHECK(wrong.exit_code == 2);
  CHECK(has(wrong.stderr_text, "--color: 'sometimes' is not one of auto, always, never"));

  cli.env.emplace_back("CLICOLOR_FORCE", "1");
  CHECK(has(run({}).stdout_text, best));
  CHECK_FALSE(has(run({"--color", "never"}).stdout_text, escape));
  cli.env.emplace_back("NO_COLOR", "1");
  CHECK_FALSE(has(run({}).stdout_text, escape));
  CHECK(has(run({"--color", "always"}).stdout_text, best));
}
