// A spec from the words of a command line: for a command that is tuned, or for a kernel whose source says the rest.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/options.hpp"
#include "core/init/draft.hpp"

namespace xtune::cli {

/// What a draft takes from the project of its source.
struct ProjectFlags {
  std::vector<std::string> include_dirs;
  std::string compile_commands;  ///< as of init::project_options
};
void add_project_options(const OptionGroup& group, ProjectFlags& flags);

struct DirectOptions {
  std::vector<std::string> parameters;  ///< NAME=VALUES
  std::string entry, name;
  std::string grid, block;          ///< of a kernel: expressions with commas between them
  std::vector<std::string> shapes;  ///< of a kernel: ARGUMENT=EXPRESSIONS
  std::string build, time;          ///< of a command
  std::string write_spec;           ///< file for the spec; empty: none
  ProjectFlags project;             ///< of a kernel
  std::vector<std::string> names;   ///< of all options of the command: "-p", "--param"
};
void add_direct_options(CLI::App& command, DirectOptions& options);

/// The words behind `--`, which the parser does not see.
std::vector<std::string> words_behind_dashes();
/// Splits the command line at `--` for the parser: with `run`, options may follow a command that is one text.
std::vector<std::string> words_to_parse(std::vector<std::string> words);

/// nullopt: the command line names specs. The problem sizes and filters of `common` move into the spec. Throws
/// Error(invalid_argument) for options without use, and where the source of a kernel shows too little; Error(io).
std::optional<DirectSpec> direct_spec(const std::vector<std::string>& paths, const DirectOptions& options,
                                      CommonOptions& common);

/// A message about the spec as one about the options that it comes from.
std::string in_options(const DirectSpec& spec, std::string message);

/// Drafts a spec for a kernel's source, as a file at this place would have it. Tells what its project says, and which
/// of its headers are missing.
init::Draft draft_at(const std::string& source, const std::filesystem::path& place, const ProjectFlags& flags,
                     init::DraftRequest request);

}  // namespace xtune::cli
