// Functions that the subcommands of xtune import share.
#pragma once

#include "cli/cases.hpp"

namespace xtune::cli {

/// A file name without special characters for shells and TOML.
std::string file_stem(std::string name);

/// How a user chooses other files than the existing ones that an import would replace.
inline constexpr const char* other_files = "--name or -o names others";

void add_import_kbench(CLI::App& import, Context& context);

}  // namespace xtune::cli
