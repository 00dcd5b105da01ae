// The files that a compiler consists of: their contents decide what it makes as much as its options do.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/subprocess.hpp"
#include "core/build/keyed_files.hpp"

namespace xtune::build {

/// Plain data, sendable to the driver.
struct ToolFiles {
  KeyedFiles files;  ///< absent: where a file would have been used in place of one of `files`
  /// A part of the compiler is a script, which may start anything: only the compiler itself can tell what it is now.
  bool may_start_others = false;
};

/// An ELF file, by its first bytes.
bool is_elf(const std::filesystem::path& path);

/// The shared libraries that the loader of this system loads with an ELF file, as it finds them here. Libraries of the
/// C and C++ runtime, of compression and of terminals are omitted, because they take no part in making code. Empty for
/// other files, and where the loader refuses the file. env, folder: what the loader finds when the program is started,
/// beside this process' own environment.
std::vector<std::string> libraries_of(const std::filesystem::path& path, const base::Environment& env = {},
                                      const std::filesystem::path& folder = {});

/// As key_file, but the digest of a large file is remembered in the default store, by the state of the file, until the
/// next boot: for what rarely changes. Throws Error(io).
void key_remembered_file(const std::filesystem::path& path, KeyedFiles& to);

/// Adds a file with its libraries, each path once. Throws Error(io).
void add_tool(const std::filesystem::path& path, ToolFiles& to);
/// Adds a file without its libraries, or its absence.
void add_tool_file(const std::filesystem::path& path, ToolFiles& to);
/// Adds the first of the candidates that is a file, and the absence of those before it. Returns its path, or an empty
/// one.
std::filesystem::path add_first(const std::vector<std::filesystem::path>& candidates, ToolFiles& to);

/// 12 hex digits over names and contents.
std::string digest_of(const ToolFiles& tool);

}  // namespace xtune::build
