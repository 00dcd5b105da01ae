// Files other than headers that a compiler reads or starts because its options, or variables of the environment, name
// them.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "core/build/keyed_files.hpp"

namespace xtune::build {

/// The options with "@file" replaced by the words in the file, also if such a word is "@file" again. Words are split as
/// GCC and Clang do: at blanks, with quotes and backslashes. The files are added to `files`. Relative names start at
/// `folder`; empty: at the working directory.
std::vector<std::string> with_option_files(const std::vector<std::string>& options, KeyedFiles& files,
                                           const std::filesystem::path& folder = {});

/// What a compiler driver of the system uses from directories in options or the environment, one line each: libraries
/// (-l, in the directories of -L, -rpath, -B, LIBRARY_PATH and LD_LIBRARY_PATH, and in /usr/local), files that these
/// and other linker files name (linked_files.hpp), the linker of -fuse-ld, and parts of the compiler (in the
/// directories of -B and COMPILER_PATH); and the variables that it reads, if they are set. No lines: none of these is
/// used.
std::vector<std::string> driver_lines(const std::vector<std::string>& options, KeyedFiles& files);

/// Whether these options link a library that starts threads according to environment variables, directly or indirectly:
/// a runtime of OpenMP, MKL, OpenBLAS, BLIS, TBB. True also if the name has a placeholder of a spec.
bool links_threads(const std::vector<std::string>& options);

/// For the words of a build that is started in `folder`: "library NAME sha256:DIGEST" for each library of -l in a
/// directory of -L, LIBRARY_PATH or LD_LIBRARY_PATH. Names in `written` are made by the build itself.
std::vector<std::string> library_lines(const std::vector<std::string>& words, const std::filesystem::path& folder,
                                       const std::set<std::filesystem::path>& written, KeyedFiles& files);

}  // namespace xtune::build
