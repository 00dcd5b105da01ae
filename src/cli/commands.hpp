// The commands of xtune, and their exit codes.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "xtune/error.hpp"

namespace xtune::cli {

enum ExitCode {
  done = 0,
  own_failure = 1,
  bad_arguments = 2,
  nothing_valid = 3,
  unavailable = 4,
  regressed = 5,
  interrupted = 130
};
int exit_code_of(ErrorKind kind) noexcept;
/// The exit code of several runs: the worst one.
int worse_code(int a, int b);
/// Each code with its meaning, for help, the manual and docs/command-line.md.
const std::vector<std::pair<int, std::string>>& exit_code_meanings();

/// Where commands keep their options, and their callbacks store the exit code; it must outlive the parsing.
struct Context {
  int exit_code = done;
  std::vector<std::shared_ptr<void>> options;
};

/// The words of the command line; set once, before the command begins.
std::vector<std::string>& command_words();

#define COMMAND(add) void add(CLI::App& app, Context& context);
#include "cli/commands.def"
#undef COMMAND

}  // namespace xtune::cli
