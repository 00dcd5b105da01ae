// Copies a kernel's source with all its includes, so that the copy compiles without other files.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/spec/source_text.hpp"

namespace xtune::dispatch {

/// The files' places in a separate directory, with their relative paths.
class SourceCopy {
 public:
  /// sources: the kernel's and its reference's. folders: searched for includes, in this order. Includes that are not
  /// found belong to the toolchain. Throws Error(io).
  SourceCopy(const std::vector<spec::SourceText>& sources, const std::vector<std::filesystem::path>& folders);

  /// The place of a source: "source/gemm/gemm.cu", relative to the directory given to write().
  std::string place_of(const std::filesystem::path& source) const;
  /// The places of those of `folders` that contain files.
  std::vector<std::string> folders() const;
  void write(const std::filesystem::path& folder) const;
  /// By canonical path.
  const std::map<std::filesystem::path, std::string>& texts() const noexcept { return texts_; }

 private:
  std::string relative(const std::filesystem::path& path) const;
  std::filesystem::path root_;  ///< common root of all files
  std::map<std::filesystem::path, std::string> texts_;
  std::vector<std::filesystem::path> folders_;
};

}  // namespace xtune::dispatch
