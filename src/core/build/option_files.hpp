// Files beside headers that a compiler reads or starts because its options, or variables of the environment, name them.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "core/build/keyed_files.hpp"

namespace xtune::build {

/// The options with the words of "@file" in its place, also where such a word is "@file" again. Words are cut as GCC
/// and Clang cut them: at blanks, with quotes and backslashes. The files are added to `files`.
/// Relative names are from `folder`; empty: from the working directory.
std::vector<std::string> with_option_files(const std::vector<std::string>& options, KeyedFiles& files,
                                           const std::filesystem::path& folder = {});

/// What a compiler driver of the system takes from folders that options or the environment name, a line each: libraries
/// (-l, in the folders of -L, -rpath, -B, LIBRARY_PATH and LD_LIBRARY_PATH, and in /usr/local), what these and other
/// files of the linker name in turn (linked_files.hpp), the linker of -fuse-ld, and parts of the compiler (in those of
/// -B and COMPILER_PATH); and the variables that it reads, where they are set. No lines: neither is used.
std::vector<std::string> driver_lines(const std::vector<std::string>& options, KeyedFiles& files);

/// Whether a library that these options link is, or needs, one that starts threads as variables of the environment say:
/// a runtime of OpenMP, MKL, OpenBLAS, BLIS, TBB. True also where a placeholder of a spec stands for its name.
bool links_threads(const std::vector<std::string>& options);

/// Of the words of a build that is started in `folder`: "library NAME sha256:DIGEST" for each library of -l that lies
/// in a folder of -L, LIBRARY_PATH or LD_LIBRARY_PATH. Those named as in `written` are made by the build itself.
std::vector<std::string> library_lines(const std::vector<std::string>& words, const std::filesystem::path& folder,
                                       const std::set<std::filesystem::path>& written, KeyedFiles& files);

}  // namespace xtune::build
