// What a compile by a compiler of the system read, and where it would have read other files.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/build/artifact.hpp"
#include "core/build/tool_files.hpp"

namespace xtune::compiler {

/// The files of one compile, as its tools list them.
struct ListedFiles {
  std::vector<std::string> headers;  ///< without those of the compiler
  std::vector<std::string> linked;   ///< with libraries of the system
};

/// What is of the compiler, whose identity describes it.
struct OwnFiles {
  std::vector<std::string> header_folders, library_folders;
  build::ToolFiles parts;
};

/// The files of which the compiler's identity says nothing: those listed, and the programs that it starts because of
/// the options. Asks the compiler for its directories with these options, as option files, scripts and the environment
/// may name some, and adds the paths in them at which another file would have been read instead, or one that an
/// #include or a __has_include looks for; nullopt: some of these are not known.
std::optional<build::FilesRead> files_read(const std::string& compiler, const std::vector<std::string>& options,
                                           const build::CompileRequest& request, const ListedFiles& listed,
                                           const OwnFiles& own);

/// The files that the line markers of a preprocessed text name. Relative names start at `own`; files in or below it are
/// omitted.
std::vector<std::string> files_in_markers(const std::string& text, const std::string& own);

}  // namespace xtune::compiler
