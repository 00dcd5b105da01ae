// Shell completion and manual pages: they have the same contents as the help.
#include <doctest/doctest.h>

#include <set>

#include "base/find_program.hpp"
#include "cli.hpp"

using namespace xtune::base;

using namespace xtune;
using namespace xtune::cli_test;

namespace {

/// What bash would offer for the last word.
std::string offered(const Cli& cli, const std::string& script, const std::vector<std::string>& words) {
  std::vector<std::string> command{"/bin/bash", "--norc", "-c",
                                   "source \"$0\"; COMP_WORDS=(\"$@\") COMP_CWORD=$(($# - 1)); compopt() { echo "
                                   "\"$*\"; }; _xtune; echo \"${COMPREPLY[*]}\"",
                                   script};
  command.insert(command.end(), words.begin(), words.end());
  const CommandResult result = cli.command(command);
  CHECK(result.exit_code == 0);
  CHECK(result.stderr_text == "");
  return result.stdout_text;
}

/// The options that the help of everything lists: "--evals".
std::set<std::string> all_options(const Cli& cli) {
  std::set<std::string> options;
  std::istringstream help(cli.xtune({"--help-all"}).stdout_text);
  for (std::string line; std::getline(help, line);)
    if (const std::size_t at = line.find("--"); line.starts_with("  -") && at != std::string::npos)
      options.insert(line.substr(at, line.find_first_of(" ,", at) - at));
  return options;
}

}  // namespace

TEST_CASE("bash completes commands, options, closed sets of values and paths") {
  const Cli cli;
  const std::string script = cli.write("xtune.bash", cli.xtune({"completion", "bash"}).stdout_text);
  const auto offers = [&](std::vector<std::string> words) {
    words.insert(words.begin(), "xtune");
    return offered(cli, script, words);
  };
  CHECK(offers({"r"}) == "run report\n");
  CHECK(has(offers({""}), "run check"));
  CHECK_FALSE(has(offers({""}), "worker"));
  CHECK(offers({"run", "--ev"}) == "--evals\n");
  CHECK(offers({"run", "x.toml", "--format", ""}) == "text json csv\n");
  CHECK(offers({"run", "x.toml", "--format", "=", "j"}) == "json\n");
  CHECK(offers({"run", "x.toml", "--format", "="}) == "text json csv\n");
  CHECK(offers({"run", "--strategy", "baye"}) == "bayesian\n");
  CHECK(offers({"run", "--evals", ""}) == "\n");
  CHECK(offers({"run", "x"}) == "-o default\n\n");
  CHECK(offers({"run", "--store", ""}) == "-o dirnames\n\n");
  CHECK(offers({"store", "ls", "--fo"}) == "--format\n");
  CHECK(offers({"store", "export", "--format", "ker"}) == "kernel-tuner\n");
  CHECK(offers({"completion", ""}) == "bash zsh fish\n");
  CHECK(has(offers({"help", "s"}), "store"));
  CHECK(offers({"devices", "x"}) == "\n");
}

TEST_CASE("The scripts of all shells know each command and option, and are of their language") {
  const Cli cli;
  const std::set<std::string> options = all_options(cli);
  CHECK(options.size() > 40);
  for (const std::string shell : {"bash", "zsh", "fish"}) {
    CAPTURE(shell);
    const CommandResult result = cli.xtune({"completion", shell});
    CHECK(result.exit_code == 0);
    for (const std::string& option : options)
      CHECK_MESSAGE(has(result.stdout_text, shell == "fish" ? " -l " + option.substr(2) : option), option);
    for (const char* command : {"candidates", "store bundle", "import kernel-tuner"})
      CHECK_MESSAGE((has(result.stdout_text, command) || shell == "zsh"), command);
    const std::string script = cli.write("script", result.stdout_text);
    if (const auto program = find_program(shell); program.empty()) {
      MESSAGE("skipped: " << shell << " is not installed (Debian: " << shell << ")");
    } else {
      CHECK(cli.command({program, "-n", script}).stderr_text == "");
    }
  }
  const CommandResult unknown = cli.xtune({"completion", "tcsh"});
  CHECK(unknown.exit_code == 2);
  CHECK(has(unknown.stderr_text, "'tcsh' is not one of bash, zsh, fish"));
}

TEST_CASE("Manual pages have every command and option, and are sound roff") {
  const Cli cli;
  REQUIRE(cli.xtune({"documents", cli.path("share")}).exit_code == 0);
  for (const char* name : {"xtune", "xtune-run", "xtune-store", "xtune-store-gc", "xtune-import-kbench"})
    CHECK_MESSAGE(fs::exists(cli.path("share/man/man1/") + name + ".1"), name);
  for (const char* name :
       {"bash-completion/completions/xtune", "zsh/site-functions/_xtune", "fish/vendor_completions.d/xtune.fish"})
    CHECK_MESSAGE(fs::exists(cli.path("share/") + name), name);
  const std::string page = cli.xtune({"help", "--man", "run"}).stdout_text;
  CHECK(page == read_file(cli.path("share/man/man1/xtune-run.1")));
  CHECK(page.starts_with(".TH XTUNE-RUN 1 "));
  for (const char* part :
       {".SH NAME\nxtune\\-run \\- tune a kernel", ".SH SYNOPSIS\n", ".SS Search\n.TP\n\\fB\\-\\-evals",
        ".SH EXIT STATUS\n", ".SH EXAMPLES\n.EX\nxtune run configs/gemm.toml", ".BR xtune (1)"})
    CHECK_MESSAGE(has(page, part), part);
  const std::string groff = find_program("groff");
  if (groff.empty()) {
    MESSAGE("skipped: groff is not installed (Debian: groff-base)");
    return;
  }
  for (const auto& entry : fs::directory_iterator(cli.path("share/man/man1"))) {
    const CommandResult result = cli.command({groff, "-man", "-ww", "-z", entry.path().string()});
    CAPTURE(entry.path());
    CHECK(result.stderr_text == "");
  }
}
