// The programs and libraries of a C++ compiler; what a compile read, and where it would have read other files; the make
// rules in which compilers, assemblers and linkers list that.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/build/artifact.hpp"
#include "core/build/keyed_files.hpp"

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

/// The driver, the programs that it starts (cc1plus, as, collect2, ld), their libraries, and the files that it reads by
/// default (specs, configuration files). Not thread-safe.
class CompilerParts {
 public:
  /// language: the options with which it compiles.
  explicit CompilerParts(std::string compiler, std::vector<std::string> language = {"-x", "c++"})
      : compiler_(std::move(compiler)), language_(std::move(language)) {}

  /// Call it before each use. Asks the compiler again if one of its files was touched, and a script each time, since
  /// the program that it starts may have changed without a trace. Returns true if it asked again.
  bool refresh();
  const build::ToolFiles& files() const noexcept { return files_; }
  /// Over the contents of all files, and the options that the compiler or a wrapper adds.
  const std::string& digest() const noexcept { return digest_; }
  /// The directories in which the linker finds libraries of the compiler and of the system by default.
  const std::vector<std::string>& library_folders() const noexcept { return library_folders_; }

 private:
  void find(const std::string& plan);

  const std::string compiler_;
  const std::vector<std::string> language_;
  std::string plan_;  ///< the programs that it would start
  build::ToolFiles files_;
  std::string digest_;
  std::vector<std::string> library_folders_;
};

/// What a compiler would use for a compile and a link with these options.
struct PlannedFiles {
  std::vector<std::string> files;            ///< programs, plugins and start files
  std::vector<std::string> absent;           ///< where options and variables let it search for them; may exist
  std::vector<std::string> library_folders;  ///< that the linker is given, in order
};
PlannedFiles planned_files(const std::string& compiler, const std::vector<std::string>& options);

/// The files that the first rule lists (-MD -MF). Relative names start at `own`, the directory in which the compiler
/// ran; files in or below `own` are omitted. Unset: the rule's file does not exist.
std::optional<std::vector<std::string>> files_of_rule(const std::filesystem::path& rule,
                                                      const std::filesystem::path& own);
/// The same for a linker (--dependency-file). GNU ld does not quote, and lld quotes as compilers do: each name has its
/// own line, and the name that exists is used, literal or unquoted. Files that no longer exist are omitted: they are
/// the compiler's own objects.
std::optional<std::vector<std::string>> files_of_link(const std::filesystem::path& rule,
                                                      const std::filesystem::path& own);
/// The files that are not below one of these directories.
std::vector<std::string> files_outside(std::vector<std::string> files, const std::vector<std::string>& folders);

}  // namespace xtune::compiler
