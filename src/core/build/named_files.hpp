// The files that the words of a command name. The only place that determines this, for builds, runs, checks, references
// and options.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/build/keyed_files.hpp"

namespace xtune::build {

struct NamedFile {
  std::size_t word = 0;        ///< the word's number in the command
  std::string name;            ///< as in the word; if it contains variables, only its last part
  std::filesystem::path path;  ///< relative names start at the command's directory
};

/// Whether the last part of the path is make, ninja, cmake, cargo or meson.
bool is_build_tool(std::string_view program);
/// system::find_program for a bare name.
std::string search_path(const std::string& name);
/// Whether it is a regular file that this process may read.
bool is_readable_file(const std::filesystem::path& path);

/// The files that a command started in `folder` may read, as far as its words show, in their order:
/// - a word that is a file, including the program itself if it is given as a path;
/// - "@file", the text after a "=" (--config=file), a piece between commas of -W and -X options (-Wl,-T,file), and the
///   rest of a short option that looks like a file (-fMakefile.gcc);
/// - the words in the text of a shell ("sh -c TEXT"), with variables and patterns expanded (system/shell_words.hpp);
///   the shell itself does not count.
/// - the interpreter that the first line of such a file names ("#!/opt/tool"), unless its bare name finds it in PATH;
/// - what build tools read first (Makefile, build.ninja, CMakeLists.txt), in the command's directory and in directories
///   among the words.
/// Files that are named only inside of these do not count.
/// Files that the command writes do not count: words after -o, --output, --out, --log, --log-file or -MF, and after ">"
/// in the text of a shell. A program found in PATH by its bare name does not count unless it is a compiler; build tools
/// count together with the compilers that they start by default.
/// find_in_path: the path of a program by its bare name; empty: not found.
std::vector<NamedFile> named_files(const std::vector<std::string>& words, const std::filesystem::path& folder,
                                   const std::function<bool(const std::filesystem::path&)>& is_file = is_readable_file,
                                   const std::function<std::string(const std::string&)>& find_in_path = search_path);

/// A line with the digest of each file that compile options name as words do (@flags, -fplugin=x.so, -Wl,-T,script),
/// and of each profile in a directory of -fprofile-use=DIR. Only names of option files in
/// option files are read in them: the compiler lists the other files that it read (manifest.hpp).
std::vector<std::string> option_file_lines(const std::vector<std::string>& options, KeyedFiles& files);

/// Whether an option requests OpenMP, or may link a library, which may use a runtime of threads.
bool may_use_threads(const std::vector<std::string>& options);

}  // namespace xtune::build
