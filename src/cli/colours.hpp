// Whether output is coloured.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>
#include <vector>

namespace xtune::cli {

/// Reads --color from the words of the command line, before they are parsed, because error messages about them are
/// coloured, too. Without it, NO_COLOR, CLICOLOR_FORCE and the kind of the terminal decide.
void choose_colours(const std::vector<std::string>& words);
bool has_colours(std::FILE* stream);

/// Adds the option to the help of a command and all its subcommands, and checks its value.
void add_color_option(CLI::App& command);

}  // namespace xtune::cli
