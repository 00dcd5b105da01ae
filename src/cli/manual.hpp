// Manual pages.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cli/command_text.hpp"

namespace xtune::cli {

/// The page of a command in the man(7) language. root: xtune itself.
std::string manual_page(const CommandText& command, const CommandText& root);
/// The pages of a command and all its subcommands, with their file names: "xtune-store-ls.1".
std::vector<std::pair<std::string, std::string>> manual_pages(const CommandText& root);

}  // namespace xtune::cli
