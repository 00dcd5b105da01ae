// Options with which a project compiles a source: of the command line, and of its compile_commands.json.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace xtune::init {

/// What a draft says in [kernel] besides the source. Paths are relative to the spec's directory.
struct ProjectOptions {
  struct Directory {
    std::string path, from;
  };
  std::vector<Directory> include_dirs{};
  std::vector<std::pair<std::string, std::string>> defines{};  ///< NAME, value
  std::vector<std::string> options{};
  std::string from{};                ///< of definitions and options: the file and its entry; empty: there is none
  std::vector<std::string> notes{};  ///< what of the entry is not used, and why
};

/// directories: of -I. database: a compile_commands.json; "none": none is read; empty: the one beside the source, or
/// the nearest one in a directory above or its build/. Of the entries, the source's counts, else the nearest one by
/// directory. folder: of the spec, absolute. Throws Error(invalid_argument) for a directory that does not exist and for
/// a database that cannot be understood, Error(io) for one that cannot be read.
ProjectOptions project_options(const std::filesystem::path& source, const std::vector<std::string>& directories,
                               const std::string& database, const std::filesystem::path& folder);

/// Lines of [kernel] with their origins. A definition of a parameter is omitted: the parameter is tuned.
std::string kernel_lines(const ProjectOptions& project, const std::vector<std::string>& parameters);

/// What was found and where, and what is not used: a line each.
std::vector<std::string> described(const ProjectOptions& project);

}  // namespace xtune::init
