// A first spec for a kernel, from its source: what the source says for sure, and blanks for the rest.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/init/project_options.hpp"
#include "xtune/dtype.hpp"

namespace xtune::init {

using Named = std::vector<std::pair<std::string, std::string>>;
using Texts = std::vector<std::string>;

/// What a call passes for an argument of a kernel.
struct PassedArgument {
  enum class Kind { array, scalar, value };  ///< value: the bytes of a struct or vector
  Kind kind = Kind::scalar;
  std::optional<DType> dtype{};  ///< nullopt: another type
  std::size_t bytes = 0;         ///< of an element or a value
  Texts shape{};                 ///< array: numbers or expressions
  std::string role{};            ///< array: "in", "out" or "inout"
  std::string value{};           ///< scalar: a number or an expression
};

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
  Named defines{};                                           ///< macros that the compiler gets, and their values
  std::string shared{};                                      ///< bytes; empty: as the source shows
  /// The arguments of a call, which say what a guess would; nullopt: unknown.
  std::optional<std::vector<PassedArgument>> passed{};

  std::string wrapper{};  ///< a file beside the draft that wraps a kernel with functors; empty: none

  bool launched_steps = false;  ///< the steps are the launches in the source's host code, in their order
  ProjectOptions project{};
};

// What a draft says, before it is text.

struct DraftParameter {
  std::string name;
  std::string values;  ///< as TOML
  bool compile_time = true;
  std::string comment;
  bool commented_out = false;  ///< it is offered, and has no effect yet
  std::string launched{};      ///< the value that the source itself uses; empty: unknown
  bool is_only = true;         ///< it uses no other one
};

struct DraftSize {
  std::string name, value;  ///< value as TOML; empty: any
  std::string comment;
};

struct DraftArgument {
  std::string name, dtype;
  Texts shape;  ///< of a buffer
  std::string role, kind;
  std::string value;  ///< of a scalar, or the fields of a struct; not empty
  std::string fill;   ///< as TOML; empty: that of the type
  // Where these come from: "guess: ...", "fill in: ...".
  std::string shape_comment, role_comment, value_comment, fill_comment;
  std::string passed{};         ///< what launches pass, in host code; empty: unknown
  bool is_passed_on = false;    ///< the first kernel that has it only writes it
  bool reads_later = false;     ///< and a later one reads it
  bool follows_config = false;  ///< its shape has a parameter
};

struct DraftStep {
  std::string entry;
  Texts grid, block, args;
  std::string grid_comment, block_comment;
  std::string shared;  ///< empty: none
  std::string shared_comment;
  std::string repeat, with;  ///< as TOML; empty: none
  std::string comment;       ///< of its entry
  Texts notes{};             ///< what happens before or behind it, and no step does
  bool is_cooperative = false;
};

struct DraftModel {
  std::string kernel;
  std::vector<DraftStep> steps;
  std::vector<DraftSize> sizes;
  std::vector<DraftParameter> parameters;
  Texts constraints;
  std::vector<DraftArgument> arguments;
  Texts notes;  ///< remarks that belong to no other entry
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
  DraftModel model{};
  std::string text{};     ///< TOML with comments
  std::string wrapper{};  ///< text of the wrapper's file; empty: none was asked for
  std::string kernel{}, entry{};
  std::vector<std::string> parameters{}, sizes{}, arguments{};  ///< their names
  std::string judge{};             ///< the configuration whose results count as right: "{ BLOCK = 64 }"; empty: none
  bool is_judge_launched = false;  ///< the source launches that one
  std::vector<DraftLine> guesses{};
  std::vector<DraftLine> blanks{};  ///< lines with a "?", which the author has to fill in
};

/// Throws Error(invalid_argument), at its line in the source: there is no kernel of that name or no kernel at all,
/// there are several and none is named (the message lists them), it is overloaded, or an argument has a type that a
/// spec cannot name.
Draft draft_spec(const DraftRequest& request);

/// The same for a source in a file, with its headers. folder: of the spec, absolute. tell: receives what the project
/// says, and a line for each header that is missing. Throws also Error(io).
Draft draft_file(const std::filesystem::path& source, const std::filesystem::path& folder, DraftRequest request,
                 const std::function<void(const std::string&)>& tell);

/// A parameter's entry of [space.params]: "[64, 128]".
std::string values_in_space(const DraftParameter& parameter);

}  // namespace xtune::init
