// The programs and libraries of a C++ compiler.
#pragma once

#include <string>
#include <vector>

#include "core/build/tool_files.hpp"

namespace xtune::compiler {

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

}  // namespace xtune::compiler
