// The words of the command line before CLI11 parses them, and xtune's messages for errors in them.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace xtune::cli {

using Words = std::vector<std::string>;

/// The error for a word in the place of a command that is not one: "unknown command 'rnu' (did you mean 'run'?)"; else
/// empty.
std::string unknown_command(const CLI::App& app, const Words& words);

/// The command that the words choose, such as `store ls`; the app itself if they choose none.
const CLI::App& chosen_command(const CLI::App& app, const Words& words);

/// The message for words that could not be parsed: "unknown option '--eval' (did you mean '--evals'?)".
std::string parse_error_text(const CLI::App& app, const Words& words, const CLI::ParseError& error);

}  // namespace xtune::cli
