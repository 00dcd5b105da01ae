// Where a program lies.
#pragma once

#include <filesystem>
#include <string>

namespace xtune::base {

/// The absolute path of a program by name, as execvp finds it: in PATH, or from `folder` where the name has a slash.
/// Empty: there is none that may be executed.
std::string find_program(const std::string& name, const std::filesystem::path& folder = {});

}  // namespace xtune::base
