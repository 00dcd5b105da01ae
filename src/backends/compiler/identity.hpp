// A C++ compiler of this system: its version, and the directories that it searches.
#pragma once

#include <string>
#include <vector>

namespace xtune::compiler {

struct Compiler {
  std::string path;     ///< absolute
  std::string version;  ///< first line of --version
  bool is_clang = false;
};

/// Runs it once. Throws Error(unavailable) if it does not run.
Compiler identify_compiler(const std::string& path);

/// Whether options name further options, in files that may change.
bool names_options(const std::vector<std::string>& options);

/// The directories that it searches with these options for #include "" and for #include <>, in order.
struct SearchedFolders {
  std::vector<std::string> quoted, angled;
};
SearchedFolders searched_folders(const std::string& compiler, const std::vector<std::string>& options);

/// Directories whose headers belong to the compiler or the system, as the compiler lists them; empty if it does not.
std::vector<std::string> standard_folders(const std::string& compiler);

/// The same without directories that may have headers of any origin (core/build/system_headers.hpp).
std::vector<std::string> compiler_folders(const std::string& compiler);

/// The path of the compiler's run-time library ("libasan.so"), or empty.
std::string runtime_library(const std::string& compiler, const std::string& name);

}  // namespace xtune::compiler
