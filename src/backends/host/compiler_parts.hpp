// The programs and libraries that the system's compiler consists of.
#pragma once

#include <string>
#include <vector>

#include "core/build/tool_files.hpp"

namespace xtune::host {

/// The driver, the programs that it starts (cc1plus, as, collect2, ld), their libraries, and the files that it reads
/// unasked (specs, configuration files). Not thread-safe.
class CompilerParts {
 public:
  explicit CompilerParts(std::string compiler) : compiler_(std::move(compiler)) {}

  /// Call before each use. Asks the compiler again if one of its files was touched, and a script each time unless it is
  /// a plain wrapper (core/build/wrapper_script.hpp): what it starts may have changed without a trace. True: it was
  /// asked again.
  bool refresh();
  const build::ToolFiles& files() const noexcept { return files_; }
  /// Over the contents of all files, and the options that the compiler or a wrapper adds by itself.
  const std::string& digest() const noexcept { return digest_; }
  /// Where the linker finds the libraries of the compiler and of the system without being told.
  const std::vector<std::string>& library_folders() const noexcept { return library_folders_; }

 private:
  void find(const std::string& plan);

  const std::string compiler_;
  std::string plan_;  ///< what it would start
  build::ToolFiles files_;
  std::string digest_;
  std::vector<std::string> library_folders_;
};

}  // namespace xtune::host
