// The help: its contents, their order, and its width.
#include <doctest/doctest.h>

#include "cli.hpp"

using namespace xtune::system;

using namespace xtune;
using namespace xtune::cli_test;

namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::string help_of(const Cli& cli, std::vector<std::string> words) {
  words.push_back("--help");
  const CommandResult result = cli.xtune(words);
  CHECK(result.exit_code == 0);
  return result.stdout_text;
}

/// Where the text has all of these, in this order.
bool in_order(const std::string& text, const std::vector<std::string>& parts) {
  std::size_t at = 0;
  for (const std::string& part : parts)
    if ((at = text.find(part, at)) == std::string::npos) return false;
  return true;
}

}  // namespace

TEST_CASE("Help fits the columns of its reader, and each entry begins with a capital letter") {
  for (const std::string columns : {"60", "80", "132"}) {
    CAPTURE(columns);
    Cli cli;
    cli.env.emplace_back("COLUMNS", columns);
    const std::string help = cli.xtune({"--help-all"}).stdout_text;
    std::size_t longest = 0, entries = 0;
    for (const std::string& line : lines_of(help)) {
      CAPTURE(line);
      CHECK(line.size() <= std::stoul(columns));
      longest = std::max(longest, line.size());
      // "  --evals N   Stop after ..."
      const std::size_t gap = line.find("  ", 2);
      if (!line.starts_with("  -") || gap == std::string::npos) continue;
      const std::size_t word = line.find_first_not_of(' ', gap);
      if (word == std::string::npos) continue;
      CHECK(std::isupper(static_cast<unsigned char>(line[word])));
      ++entries;
    }
    CHECK(entries > 50);
    CHECK(longest > std::stoul(columns) - 10);  // it uses what there is
    for (const char* command : {"run", "store ls", "import kbench", "status"})
      CHECK(has(help, std::string("\nUsage: xtune ") + command + " "));
  }
}

TEST_CASE("Without a terminal help has 80 columns") {
  const Cli cli;
  Cli eighty;
  eighty.env.emplace_back("COLUMNS", "80");
  CHECK(cli.command({"/usr/bin/env", "-u", "COLUMNS", XTUNE_PROGRAM, "run", "--help"}).stdout_text ==
        help_of(eighty, {"run"}));
}

TEST_CASE("The options of a command are in groups, the usual ones first") {
  const Cli cli;
  const std::string run = help_of(cli, {"run"});
  CHECK(has(run, "Usage: xtune run [SPEC...] [OPTIONS]\n"));
  CHECK(in_order(run, {"Arguments:\n", "Search:\n  --evals N ", "--seconds S ", "Problem:\n  -D NAME=VALUE ",
                       "Device:\n", "--arch ARCH ", "Job:\n", "Output:\n  --format text|json|csv ",
                       "Store:\n  --store DIR ", "Options:\n", "Example:\n  xtune run "}));
  CHECK(has(help_of(cli, {"store", "bundle"}), "Usage: xtune store bundle -o FILE [OPTIONS]\n"));
  CHECK(has(help_of(cli, {"store"}), "Usage: xtune store COMMAND [OPTIONS]\n"));
  CHECK(has(help_of(cli, {"candidates"}), "Usage: xtune candidates [SPEC] [OPTIONS]\n"));
}

TEST_CASE("Help says once that an option may be repeated") {
  Cli cli;
  cli.env.emplace_back("COLUMNS", "2000");  // each description on one line
  const std::string help = cli.xtune({"--help-all"}).stdout_text;
  std::size_t repeated = 0;
  for (const std::string& line : lines_of(help)) {
    if (!has(line, "may be repeated")) continue;
    ++repeated;
    CAPTURE(line);
    const std::string remark = " (may be repeated)";
    REQUIRE(line.ends_with(remark));
    CHECK_FALSE(has(line.substr(0, line.size() - remark.size()), "repeated"));
  }
  CHECK(repeated > 5);
}

TEST_CASE("A command takes only the options that mean something to it") {
  const Cli cli;
  const std::string devices = help_of(cli, {"devices"});
  for (const char* option : {"-D", "--filter", "--store", "--arch"}) CHECK_FALSE_MESSAGE(has(devices, option), option);
  CHECK(has(devices, "--backend"));
  const CommandResult refused = cli.xtune({"devices", "-D", "N=1"});
  CHECK(refused.exit_code == 2);
  CHECK(has(refused.stderr_text, "unknown option '-D'"));
  CHECK_FALSE(has(help_of(cli, {"check"}), "--store"));
  CHECK(cli.xtune({"compile", cli.copy_spec("[1, 2]"), "--backend", "host", "--limit", "1", "--quiet"}).stderr_text ==
        "");
}

TEST_CASE("Earlier names of commands and options work, and help shows only the present ones") {
  const Cli cli;
  const std::string spec = cli.copy_spec("[1, 2]");
  const auto same = [&](std::vector<std::string> now, std::vector<std::string> earlier) {
    const CommandResult a = cli.xtune(now), b = cli.xtune(earlier);
    CHECK(a.exit_code == b.exit_code);
    CHECK(a.stdout_text == b.stdout_text);
  };
  for (const char* rows : {"--rows", "--samples"})
    CHECK(has(cli.xtune({"space", spec, "--backend", "host", rows, "1"}).stdout_text, "VARIANT"));
  same({"select", "--help"}, {"cover", "--help"});
  same({"help", "select"}, {"help", "cover"});
  CHECK_FALSE(has(help_of(cli, {"space"}), "--samples"));
  CHECK_FALSE(has(help_of(cli, {"candidates"}), "--top"));
  CHECK(has(help_of(cli, {"validate"}), "--limit"));
  CHECK_FALSE(has(help_of(cli, {"validate"}), "--configs"));
  CHECK_FALSE(has(cli.xtune({"--help"}).stdout_text, "cover "));
}

TEST_CASE("Commands for xtune's own use are in no list") {
  const Cli cli;
  CHECK_FALSE(has(cli.xtune({"--help-all"}).stdout_text, "worker"));
  const std::string misspelt = cli.xtune({"workr"}).stderr_text;
  CHECK(has(misspelt, "unknown command 'workr'"));
  CHECK_FALSE(has(misspelt, "worker"));
  CHECK(cli.xtune({"worker", "--help"}).exit_code == 0);
}

TEST_CASE("docs/command-line.md lists the commands and exit codes of the help") {
  const Cli cli;
  const std::string page = read_file(XTUNE_SOURCE_DIR "/docs/command-line.md");
  const std::string help = cli.xtune({"--help"}).stdout_text;
  const auto section = [&](const std::string& title) {
    const std::size_t at = help.find("\n" + title + ":\n");
    REQUIRE(at != std::string::npos);
    return lines_of(help.substr(at, help.find("\n\n", at + 1) - at));
  };
  std::size_t commands = 0, codes = 0;
  for (const std::string& line : section("Commands"))
    if (line.starts_with("  ") && line[2] != ' ') {
      const std::string name = line.substr(2, line.find(' ', 2) - 2);
      CHECK_MESSAGE(has(page, "`xtune " + name), name);
      ++commands;
    }
  CHECK(commands > 15);
  for (const std::string& line : section("Exit codes"))
    if (line.starts_with("  ") && line[2] != ' ') {
      const std::string code = line.substr(2, line.find(' ', 2) - 2);
      const std::string meaning = line.substr(line.find_first_not_of(' ', 2 + code.size()));
      CHECK_MESSAGE(has(page, "| " + code + " | " + meaning), line);
      ++codes;
    }
  CHECK(codes == 7);
}

TEST_CASE("Tables of candidates and compile fit 80 columns, with parameters in the spec's order") {
  Cli cli;
  cli.env.emplace_back("COLUMNS", "80");
  const std::string gemm = XTUNE_SOURCE_DIR "/configs/gemm.toml";
  const std::string candidates = cli.xtune({"candidates", gemm, "--arch", "sm_90", "--top", "3"}).stdout_text;
  CHECK(has(candidates, "BLOCK_M"));
  for (const std::string& line : lines_of(candidates))
    if (!line.starts_with("device: ")) CHECK_MESSAGE(line.size() <= 80, line);
  std::string spec = read_file(cli.copy_spec("[1, 2]"));
  spec.insert(spec.find("VARIANT ="), "Z_TILE = [1]\nA_TILE = [1]\n");
  const std::string compiled =
      cli.xtune({"compile", cli.write("copy.toml", spec), "--backend", "host", "--limit", "2"}).stdout_text;
  CHECK(has(compiled, "Z_TILE=1 A_TILE=1 VARIANT=1\n"));
  for (const std::string& line : lines_of(compiled)) CHECK_MESSAGE(line.size() <= 80, line);
}
