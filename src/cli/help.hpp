// Help texts.
#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <string>

#include "cli/command_text.hpp"

namespace xtune::cli {

/// The help of a command, in lines of up to `width` columns, as far as its words allow.
std::string help_text(const CommandText& command, std::size_t width);
/// The same for a command and all its subcommands.
std::string help_of_all(const CommandText& command, std::size_t width);

/// Makes CLI11 answer --help and --help-all with these texts, in the width of the terminal.
class HelpFormatter final : public CLI::FormatterBase {
 public:
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override;
};

}  // namespace xtune::cli
