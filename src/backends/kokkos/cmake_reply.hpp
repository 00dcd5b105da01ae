// What CMake's file API says of a target: how it is compiled and linked.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace xtune::kokkos {

struct BuildFlags {
  std::vector<std::string> compile;  ///< options, definitions and include folders
  std::vector<std::string> link;     ///< options and libraries, in their order
};

/// The words of a command-line fragment as a POSIX shell takes it, without expansions.
std::vector<std::string> split_words(std::string_view fragment);
/// Of a target object (cmake-file-api(7), "codemodel" version 2). Throws Error(unavailable) for a text that is none.
BuildFlags flags_of_target(const std::string& json_text);
/// Asks for the answer before CMake runs. Throws Error(io).
void write_query(const std::filesystem::path& build_folder);
/// The flags of one target, after CMake has run. Throws Error(unavailable).
BuildFlags read_reply(const std::filesystem::path& build_folder, const std::string& target);

}  // namespace xtune::kokkos
