// Shell completion and manual pages: they have the same contents as the help.
#include <doctest/doctest.h>

#include <set>

#include "cli.hpp"
#include "system/files.hpp"

using namespace xtune::system;

using namespace xtune;
using namespace xtune::cli_test;

namespace {

/// What a shell would offer for the last word, by the script that xtune prints for it and a stand-in for what the shell
/// does with it.
std::string offered(const Cli& cli, const std::string& shell, const std::string& ask,
                    const std::vector<std::string>& words) {
  const std::string script = cli.write("script", cli.xtune({"completion", shell}).stdout_text);
  std::vector<std::string> command{find_program(shell)};
  if (shell == "bash") command.emplace_back("--norc");
  if (shell == "zsh") command.emplace_back("-f");
  command.insert(command.end(), {"-c", ask, script, XTUNE_PROGRAM});
  command.insert(command.end(), words.begin(), words.end());
  const CommandResult result = cli.command(command);
  CHECK(result.exit_code == 0);
  CHECK(result.stderr_text == "");
  return result.stdout_text;
}

/// The commands of the help of everything, such as {"store", "ls"}.
std::vector<std::vector<std::string>> all_commands(const std::string& help_of_all) {
  std::vector<std::vector<std::string>> commands;
  std::istringstream help(help_of_all);
  for (std::string line; std::getline(help, line);) {
    if (!line.starts_with("Usage: xtune ")) continue;
    std::istringstream words(line.substr(std::string("Usage: xtune").size()));
    std::vector<std::string>& command = commands.emplace_back();
    for (std::string word; words >> word && word.find_first_not_of("abcdefghijklmnopqrstuvwxyz-") == std::string::npos;)
      command.push_back(word);
  }
  return commands;
}

/// The options that the help lists: "--evals".
std::set<std::string> options_in(const std::string& help_text) {
  std::set<std::string> options;
  std::istringstream help(help_text);
  for (std::string line; std::getline(help, line);)
    if (const std::size_t at = line.find("--"); line.starts_with("  -") && at != std::string::npos)
      options.insert(line.substr(at, line.find_first_of(" ,", at) - at));
  return options;
}

}  // namespace

TEST_CASE("bash completes commands, options, closed sets of values and paths") {
  const Cli cli;
  const auto offers = [&](const std::vector<std::string>& words) {
    return offered(
        cli, "bash",
        "source \"$0\"; COMP_WORDS=(\"$@\") COMP_CWORD=$(($# - 1)); compopt() { echo \"$*\"; }; _xtune; echo "
        "\"${COMPREPLY[*]}\"",
        words);
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
  CHECK(has(offers({"--"}), "--version"));
  CHECK(offers({"diff", ""}) == "-o default\n\n");
  CHECK(offers({"submit", "x.toml", "--", "--fo"}) == "\n");
  const std::string spec =
      cli.write("k.toml", "[kernel]\nname = 5\n[problem]\nN = 64\n[space.params]\nBLOCK = [32, 64]\nUNROLL = [1, 2]\n");
  CHECK(offers({"run", spec, "-D", ""}) == "-o nospace\n-o nospace\n-o nospace\nN= BLOCK= UNROLL=\n");
  CHECK(offers({"run", spec, "-D", "BL"}) == "-o nospace\nBLOCK=\n");
  CHECK(offers({"run", spec, "-D", "BLOCK", "="}) == "32 64\n");
  CHECK(offers({"run", spec, "-D", "BLOCK", "=", "6"}) == "64\n");
  CHECK(offers({"show", spec, "--config", "BLOCK", "=", "64,UN"}) == "-o nospace\n64,UNROLL=\n");
  CHECK(offers({"show", spec, "--config", "BLOCK", "=", "64,UNROLL", "=", ""}) == "1 2\n");
  CHECK(offers({"compile", spec, "--arch", "gfx942,sm_9"}) == "gfx942,sm_90\n");
  CHECK(offers({"run", "missing.toml", "-D", ""}) == "\n");
}

TEST_CASE("zsh and fish complete the same, with summaries, and values behind --option=") {
  const Cli cli;
  // The words of zsh's functions; fish itself is asked what it would offer.
  const std::pair<std::string, std::string> asks[] = {
      {"zsh",
       "compdef() {}; compset() { PREFIX=${PREFIX#*=} }; _describe() { print -rl -- ${(P)2} }; "
       "_files() { print files $* }; source \"$0\"; words=(\"$@\") CURRENT=$# PREFIX=$words[-1]; _xtune; true"},
      {"fish", "source $argv[1]; complete -C (string join ' ' -- $argv[2..-1])"}};
  for (const auto& [shell, ask] : asks) {
    CAPTURE(shell);
    if (find_program(shell).empty()) {
      MESSAGE("skipped: " << shell << " is not installed [apt: " << shell << "]");
      continue;
    }
    const bool zsh = shell == "zsh";
    const auto offers = [&, ask = ask, shell = shell](const std::vector<std::string>& words) {
      return offered(cli, shell, ask, words);
    };
    CHECK(has(offers({"r"}), zsh ? "run:Tune a kernel" : "run\tTune a kernel"));
    CHECK(has(offers({"run", "--ev"}), zsh ? "--evals:Stop" : "--evals\tStop"));
    CHECK(has(offers({"store", "v"}), zsh ? "verify:Check" : "verify\tCheck"));
    CHECK(has(offers({"run", "--format=j"}), zsh ? "json" : "--format=json"));
    CHECK(has(offers({"run", "--format", "j"}), "json"));
    fs::create_directories(cli.path("some"));
    CHECK(has(offers({"run", cli.path("so")}), zsh ? "files\n" : "some/"));
    CHECK(has(offers({"run", "--store=" + cli.path("so")}), zsh ? "files -/\n" : "--store=" + cli.path("some/")));
  }
}

TEST_CASE("Completion knows each command and option, and the scripts of all shells are of their language") {
  const Cli cli;
  std::size_t known = 0;
  for (std::vector<std::string> words : all_commands(cli.xtune({"--help-all"}).stdout_text)) {
    const std::string name = words.empty() ? "" : words.back();
    CAPTURE(name);
    words.insert(words.begin(), {"__complete", "xtune"});
    if (!name.empty()) CHECK(has(cli.xtune(words).stdout_text, name + "\t"));
    words.emplace_back("--");
    const std::string offers = cli.xtune(words).stdout_text;
    words.back() = "--help";
    for (const std::string& option : options_in(cli.xtune({words.begin() + 2, words.end()}).stdout_text)) {
      CHECK_MESSAGE(has(offers, option + "\t"), option);
      ++known;
    }
  }
  CHECK(known > 200);
  for (const std::string shell : {"bash", "zsh", "fish"}) {
    CAPTURE(shell);
    const std::string script = cli.write("script", cli.xtune({"completion", shell}).stdout_text);
    if (const auto program = find_program(shell); program.empty()) {
      MESSAGE("skipped: " << shell << " is not installed [apt: " << shell << "]");
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
    MESSAGE("skipped: groff is not installed [apt: groff-base]");
    return;
  }
  for (const auto& entry : fs::directory_iterator(cli.path("share/man/man1"))) {
    const CommandResult result = cli.command({groff, "-man", "-ww", "-z", entry.path().string()});
    CAPTURE(entry.path());
    CHECK(result.stderr_text == "");
  }
}
