// The compile and link flags of a target, from CMake's file API.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace xtune::kokkos {

struct BuildFlags {
  std::vector<std::string> compile;  ///< options, definitions and include directories
  std::vector<std::string> link;     ///< options and libraries, in their order
};

/// The words of a command-line fragment as a POSIX shell splits it, without expansions.
std::vector<std::string> split_words(std::string_view fragment);
/// From a target object (cmake-file-api(7), "codemodel" version 2). Throws Error(unavailable) for another text.
BuildFlags flags_of_target(const std::string& json_text);
/// Writes the request for the reply, before CMake runs. Throws Error(io).
void write_query(const std::filesystem::path& build_folder);
/// The flags of one target, after CMake has run. Throws Error(unavailable).
BuildFlags read_reply(const std::filesystem::path& build_folder, const std::string& target);

}  // namespace xtune::kokkos
