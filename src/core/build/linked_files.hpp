// Files that a linker reads because another library names them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace xtune::build {

struct LinkedNames {
  std::vector<std::filesystem::path> files;  ///< existing files
  std::vector<std::string> libraries;        ///< from -l in a linker script
};

/// The members of a thin archive, the files that a linker script names, and the libraries that a shared library needs,
/// except those in the system's directories. Empty for other files.
LinkedNames names_in_library(const std::filesystem::path& path);

/// Whether the library is in /lib, /usr/lib or a similar directory: such a library counts by name.
bool is_system_library(const std::filesystem::path& path);

}  // namespace xtune::build
