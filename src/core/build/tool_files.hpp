// The files of a compiler: their contents determine its output as much as its options do.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/build/keyed_files.hpp"
#include "system/subprocess.hpp"

namespace xtune::build {

/// Plain data that can be sent to the driver.
struct ToolFiles {
  KeyedFiles files;  ///< absent: paths at which a file would have been used instead of one of `files`
  /// A part of the compiler is a script, which may start anything: only asking the compiler shows its current state.
  bool may_start_others = false;
};

/// Whether the first bytes are those of an ELF file.
bool is_elf(const std::filesystem::path& path);

/// The shared libraries that this system's loader loads with an ELF file. Libraries of the C and C++ runtime, of
/// compression and of terminals are omitted, because they do not affect generated code. Empty for other files, and if
/// the loader refuses the file. env, folder: environment in addition to this process's, and working directory, with
/// which the program is started.
std::vector<std::string> libraries_of(const std::filesystem::path& path, const system::Environment& env = {},
                                      const std::filesystem::path& folder = {});

/// Like key_file, but the digest of a large file is cached in the default store, by the state of the file, until the
/// next boot: for files that rarely change. Throws Error(io).
void key_remembered_file(const std::filesystem::path& path, KeyedFiles& to);

/// Adds a file with its libraries, each path once. Throws Error(io).
void add_tool(const std::filesystem::path& path, ToolFiles& to);
/// Adds a file without its libraries, or its absence.
void add_tool_file(const std::filesystem::path& path, ToolFiles& to);
/// Adds the first candidate that is a file, and the absence of those before it. Returns its path, or an empty one.
std::filesystem::path add_first(const std::vector<std::filesystem::path>& candidates, ToolFiles& to);

/// 12 hex digits over names and contents.
std::string digest_of(const ToolFiles& tool);

}  // namespace xtune::build
