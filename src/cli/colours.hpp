// Whether texts are coloured.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>
#include <vector>

namespace xtune::cli {

/// Reads --color from the words of the command line: before they are parsed, since a complaint about them is coloured,
/// too. Without it the terminal decides, and NO_COLOR and CLICOLOR_FORCE.
void choose_colours(const std::vector<std::string>& words);
bool has_colours(std::FILE* stream);

/// The option in the help of a command and all commands below it, which checks its value.
void add_color_option(CLI::App& command);

}  // namespace xtune::cli
