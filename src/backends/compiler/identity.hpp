// Questions to a C++ compiler of this system about itself: its version, the directories that it searches, the programs
// that it starts.
#pragma once

#include <string>
#include <vector>

#include "system/subprocess.hpp"

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

struct Question {
  std::vector<std::string> options;
  /// Besides LC_ALL=C and an own temporary directory, which is named temporary_place in the answer.
  system::Environment env{};
  bool again = false;  ///< ask, even if the answer is remembered
};

constexpr const char* temporary_place = "/xtune-temporary";

/// Starts the compiler with these options. Each start of clang takes about 0.1 s of CPU time, so the answer of an
/// executable file in the same state, in the same environment, is remembered by the process, and by all workers of one
/// process (base/process_folder.hpp). Not remembered: failures, and answers of scripts, which may start another program
/// without a trace. Throws CannotStart. Thread-safe.
system::CommandResult ask_compiler(const std::string& compiler, const Question& question);

}  // namespace xtune::compiler
