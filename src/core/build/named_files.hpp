// Which files the words of a command name. The one place that decides, for builds, runs, checks, references and
// options.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace xtune::build {

struct NamedFile {
  std::size_t word = 0;        ///< its number in the command
  std::string name;            ///< as the word has it; where variables are in that, its last part
  std::filesystem::path path;  ///< from the folder of the command
};

/// base::find_program for a bare name.
std::string search_path(const std::string& name);
/// A regular file that this process may read.
bool is_readable_file(const std::filesystem::path& path);

/// The files that a command started in `folder` may read, as far as its words show, in their order:
/// - a word that is a file, the program itself included where it is given as a path;
/// - "@file" and the words in it, also where these are "@file" again, what follows a "=" (--config=file), a piece
/// between commas of -W and -X options (-Wl,-T,file), and the
///   rest of a short option that looks like a file (-fMakefile.gcc);
/// - the words within the text of a shell ("sh -c TEXT"), with variables and patterns expanded (base/shell_words.hpp);
///   the shell itself does not count;
/// - what build tools read without being told (implicit_files.hpp).
/// Files that the command writes do not count, wherever its words name them: what follows -o, --output, --out, --log,
/// --log-file or -MF, and in the text of a shell ">". A program found in PATH by its bare name does not count unless it
/// is a compiler; build tools count with the compilers that they take by themselves.
/// find_in_path: the path of a program by its bare name; empty: there is none.
std::vector<NamedFile> named_files(const std::vector<std::string>& words, const std::filesystem::path& folder,
                                   const std::function<bool(const std::filesystem::path&)>& is_file = is_readable_file,
                                   const std::function<std::string(const std::string&)>& find_in_path = search_path);

}  // namespace xtune::build
