// Files that build tools read although the command does not name them.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace xtune::build {

struct ImplicitFile {
  std::size_t word = 0;  ///< number of the tool's word in the command
  std::string name;      ///< relative to the tool's directory
  std::filesystem::path path;
};

/// Whether the last part of the path is make, ninja, cmake, cargo or meson.
bool is_build_tool(std::string_view program);

/// For each build tool among the words of a command that is started in `folder`: for make, the makefile that it reads
/// by default or with -f, in the directory of -C, with the files of its "include" lines; the same for build.ninja;
/// CMakeCache.txt and the top CMakeLists.txt of "cmake --build DIR"; Cargo.toml, Cargo.lock and build.rs. Only files
/// for which is_file returns true. Does not find names that a makefile computes, or sources that these files list.
std::vector<ImplicitFile> implicit_files(const std::vector<std::string>& words, const std::filesystem::path& folder,
                                         const std::function<bool(const std::filesystem::path&)>& is_file);

}  // namespace xtune::build
