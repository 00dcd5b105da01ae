// What the toolchains share that start a compiler for devices: its identity, its files, and how the lowered names of
// kernels are found: by pointers to names that are added to the source.
#pragma once

#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/compiler/files_read.hpp"
#include "core/build/artifact.hpp"
#include "core/build/compile_hint.hpp"
#include "system/subprocess.hpp"

namespace xtune::compiler {

/// All names that an image is asked for: entries, then variables.
std::vector<std::string> names_of(const build::CompileRequest& request);

/// Source text with a pointer to each name: one on the device, whose initial value shows the lowered name, and one on
/// the host, which exports a static variable. Line-marked, so that a message about one has its number.
std::string pointers_text(const std::vector<std::string>& names);
/// The name of a pointer on the device; the first one has number 0.
std::string pointer_name(std::size_t number);

/// Throws CandidateFailure(compile_failed) that says which of the request's names is wrong, where the failure's error
/// is in pointers_text(names_of(request)).
void throw_if_wrong_name(const build::CandidateFailure& failure, const build::CompileRequest& request);

/// As require_compiled(), for a source with pointers to the request's names.
void require_named(const system::CommandResult& result, const build::CompileRequest& request,
                   const std::string& compiler);

/// Options by which clang lists the headers read in the file `read`. Clang 21's driver ignores -MD and -MF for device
/// code.
std::vector<std::string> listing_options();

/// compile(), whose artifact or failure gets the list.
template <class Compile>
build::Artifact with_files_read(const std::optional<build::FilesRead>& read, const Compile& compile) {
  try {
    build::Artifact artifact = compile();
    artifact.files_read = read;
    return artifact;
  } catch (build::CandidateFailure& failure) {
    failure.files_read = read;
    throw;
  }
}

class ExternalToolchain : public build::HintedToolchain {
 public:
  std::string fingerprint() override;
  build::ToolFiles parts() override;
  bool lists_files() override { return true; }

 protected:
  struct Identity {
    std::string text;                                ///< start of the fingerprint: "clang 19.1.7 (...)"
    std::string details{};                           ///< whatever else its digest is to cover
    std::function<build::ToolFiles()> find_files{};  ///< besides those of the compiler
  };
  /// driver: the C++ compiler that reads the source; language: the options with which it does.
  ExternalToolchain(build::KernelCompiler kind, Identity identity, std::string driver,
                    std::vector<std::string> language);

  /// The user's files in the list `work`/read, and where the compiler would have read others. Unset: it has written no
  /// list. flags: the options that its driver understands; folders: those of files that the identity describes.
  std::optional<build::FilesRead> files_read(const build::CompileRequest& request,
                                             const std::vector<std::string>& flags, const std::filesystem::path& work,
                                             OwnFiles own);

 private:
  void refresh();  ///< needs the mutex, except in the constructor

  const Identity identity_;
  const std::string driver_;
  std::mutex mutex_;  ///< guards the members below
  CompilerParts parts_;
  build::ToolFiles files_;
  std::optional<std::vector<std::string>> driver_folders_;
};

}  // namespace xtune::compiler
