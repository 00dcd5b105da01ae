// Copies a kernel's source with all that it includes, so that it compiles from there alone.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/spec/source_text.hpp"

namespace xtune::dispatch {

/// The files' places below a folder of their own, as they lay to each other.
class SourceCopy {
 public:
  /// sources: the kernel's and its reference's. folders: where includes are looked for, in this order. Includes that
  /// are found nowhere belong to the toolchain. Throws Error(io).
  SourceCopy(const std::vector<spec::SourceText>& sources, const std::vector<std::filesystem::path>& folders);

  /// Of a source: "source/gemm/gemm.cu", relative to the folder given to write().
  std::string place_of(const std::filesystem::path& source) const;
  /// Those of `folders` that hold something, likewise.
  std::vector<std::string> folders() const;
  void write(const std::filesystem::path& folder) const;
  /// By canonical path.
  const std::map<std::filesystem::path, std::string>& texts() const noexcept { return texts_; }

 private:
  std::string relative(const std::filesystem::path& path) const;
  std::filesystem::path root_;  ///< that all files have in common
  std::map<std::filesystem::path, std::string> texts_;
  std::vector<std::filesystem::path> folders_;
};

}  // namespace xtune::dispatch
