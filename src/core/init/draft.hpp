// A first spec for a kernel, from its source.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace xtune::init {

struct DraftRequest {
  std::string source;                ///< the text
  std::vector<std::string> headers;  ///< texts of the user's headers that it includes
  std::string source_path;           ///< as the spec names it, and errors do
  std::string spec_path;             ///< as comments name it
  std::string entry;                 ///< empty: the only kernel
};

struct Draft {
  std::string text;  ///< TOML with comments
  std::string kernel, entry;
  std::vector<std::string> parameters;
  std::vector<std::string> guesses;  ///< what the author has to check, a line each
};

/// Throws Error(invalid_argument), at its line in the source: there is no kernel of that name or no kernel at all,
/// there are several and none is named (the message lists them), or an argument has a type that a spec cannot name.
Draft draft_spec(const DraftRequest& request);

/// Of the user's headers that a source includes, directly or not. Throws Error(io) for one that cannot be read.
std::vector<std::string> header_texts(const std::filesystem::path& path, const std::string& text);

}  // namespace xtune::init
