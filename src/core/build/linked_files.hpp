// What a linker reads because a library that it was given names it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace xtune::build {

struct LinkedNames {
  std::vector<std::filesystem::path> files;  ///< that exist
  std::vector<std::string> libraries;        ///< of -l in a linker script
};

/// The members of a thin archive, the files that a linker script names, and the libraries that a shared library needs,
/// less those in the folders of the system. Nothing for other files.
LinkedNames names_in_library(const std::filesystem::path& path);

/// In /lib, /usr/lib and their like: such a library counts by name.
bool is_system_library(const std::filesystem::path& path);

}  // namespace xtune::build
