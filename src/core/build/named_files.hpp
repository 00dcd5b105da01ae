// The files that the words of a command name. The only place that determines this, for builds, runs, checks, references
// and options.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace xtune::build {

struct NamedFile {
  std::size_t word = 0;        ///< the word's number in the command
  std::string name;            ///< as in the word; if it contains variables, only its last part
  std::filesystem::path path;  ///< relative names start at the command's directory
};

/// base::find_program for a bare name.
std::string search_path(const std::string& name);
/// Whether it is a regular file that this process may read.
bool is_readable_file(const std::filesystem::path& path);

/// The files that a command started in `folder` may read, as far as its words show, in their order:
/// - a word that is a file, including the program itself if it is given as a path;
/// - "@file" and the words in it, also if these are "@file" again, the text after a "=" (--config=file), a piece
///   between commas of -W and -X options (-Wl,-T,file), and the rest of a short option that looks like a file
///   (-fMakefile.gcc);
/// - the words in the text of a shell ("sh -c TEXT"), with variables and patterns expanded (base/shell_words.hpp);
///   the shell itself does not count;
/// - files that build tools read by default (implicit_files.hpp).
/// Files that the command writes do not count: words after -o, --output, --out, --log, --log-file or -MF, and after ">"
/// in the text of a shell. A program found in PATH by its bare name does not count unless it is a compiler; build tools
/// count together with the compilers that they start by default.
/// find_in_path: the path of a program by its bare name; empty: not found.
std::vector<NamedFile> named_files(const std::vector<std::string>& words, const std::filesystem::path& folder,
                                   const std::function<bool(const std::filesystem::path&)>& is_file = is_readable_file,
                                   const std::function<std::string(const std::string&)>& find_in_path = search_path);

}  // namespace xtune::build
