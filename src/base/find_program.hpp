// The path of a program.
#pragma once

#include <filesystem>
#include <string>

namespace xtune::base {

/// The absolute path of a program by name, as execvp finds it: in PATH, or relative to `folder` if the name has a
/// slash. Empty: no such program can be executed.
std::string find_program(const std::string& name, const std::filesystem::path& folder = {});

}  // namespace xtune::base
