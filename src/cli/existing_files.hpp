// What commands do about existing files where they write new specs.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>
#include <vector>

namespace xtune::cli {

/// --force, for commands that write specs, which users edit afterwards.
void add_force_option(CLI::App& command, bool& force);

/// Throws Error(invalid_argument) that names the first of the files that exists, also as a broken link, unless force.
/// otherwise: how to choose another file, for example "-o names another".
void require_new_files(const std::vector<std::filesystem::path>& files, bool force, const std::string& otherwise);

}  // namespace xtune::cli
