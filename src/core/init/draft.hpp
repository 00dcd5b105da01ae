// A first spec for a kernel, from its source: what the source says for sure, and blanks for the rest.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/init/project_options.hpp"

namespace xtune::init {

using Named = std::vector<std::pair<std::string, std::string>>;

struct DraftRequest {
  std::string source;  ///< the text
  std::vector<std::pair<std::filesystem::path, std::string>>
      headers;                       ///< the user's that it includes, with their texts
  std::string source_path;           ///< as the spec names it, and errors do
  std::vector<std::string> entries;  ///< several are steps; empty: the only kernel

  // What the user says, in the place of what the source shows.
  Named parameters{};  ///< name and values in TOML: "BLOCK", "[64, 128]"
  Named sizes{};       ///< of [problem], in TOML; one with the name of an argument is its value
  std::vector<std::string> grid{}, block{}, constraints{};
  std::map<std::string, std::vector<std::string>> shapes{};  ///< by argument

  std::string wrapper{};  ///< a file beside the draft that wraps a kernel with functors; empty: none

  bool launched_steps = false;  ///< the steps are the launches in the source's host code, in their order
  ProjectOptions project{};
};

/// A line that the author has to look at.
struct DraftLine {
  std::string argument;  ///< that it is about; empty: none
  std::string text;      ///< without the comment
  std::string why;       ///< the comment
  std::size_t line = 0;  ///< from 1
  /// "x: shape = ["n"]"
  std::string shown() const { return (argument.empty() ? "" : argument + ": ") + text; }
};

struct Draft {
  std::string text{};     ///< TOML with comments
  std::string wrapper{};  ///< text of the wrapper's file; empty: none was asked for
  std::string kernel{}, entry{};
  std::vector<std::string> parameters{}, sizes{}, arguments{};  ///< their names
  std::vector<DraftLine> guesses{};
  std::vector<DraftLine> blanks{};  ///< lines with a "?", which the author has to fill in
};

/// Throws Error(invalid_argument), at its line in the source: there is no kernel of that name or no kernel at all,
/// there are several and none is named (the message lists them), or an argument has a type that a spec cannot name.
Draft draft_spec(const DraftRequest& request);

}  // namespace xtune::init
