// Files that build tools read although no word of their command names them.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace xtune::build {

struct ImplicitFile {
  std::size_t word = 0;  ///< the number of the tool's word in the command
  std::string name;      ///< from the folder of the tool
  std::filesystem::path path;
};

/// make, ninja, cmake, cargo or meson, by the last part of a path.
bool is_build_tool(std::string_view program);

/// For each build tool among the words of a command that is started in `folder`: the makefile that make takes without
/// -f or by it, in the folder of -C, with what its "include" lines name; the same for build.ninja; CMakeCache.txt and
/// the top CMakeLists.txt of "cmake --build DIR"; Cargo.toml, Cargo.lock and build.rs. Only those that is_file holds
/// for. Names that a makefile computes are not found, nor are the sources that these files list.
std::vector<ImplicitFile> implicit_files(const std::vector<std::string>& words, const std::filesystem::path& folder,
                                         const std::function<bool(const std::filesystem::path&)>& is_file);

}  // namespace xtune::build
