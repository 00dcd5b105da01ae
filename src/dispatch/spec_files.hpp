// The files of a spec in another place: in a bundle, or beside a captured launch.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/spec/spec.hpp"
#include "core/store/bundle.hpp"

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

/// The spec, its sources with all their includes, and its data files, with their relative paths; for every backend.
/// Throws Error as load_spec; Error(unsupported) for a spec that cannot be read from another place, because its paths
/// are absolute. Directories in options (-I/opt/include) stay in the options.
store::BundledSpec pack_spec(const std::filesystem::path& spec);

/// Writes the files below the directory. Returns the path of the spec.
std::filesystem::path unpack_spec(const store::BundledSpec& spec, const std::filesystem::path& folder);

/// A bundled spec in a private temporary directory.
struct OpenedSpec {
  std::filesystem::path spec;
  std::shared_ptr<const void> directory;  ///< keeps the files until it is destroyed
};

/// kernel: may be empty if the bundle has only one spec. Throws Error(invalid_argument) with the bundle's kernels if it
/// has none of that name, Error(io).
OpenedSpec open_bundled_spec(const std::filesystem::path& bundle, std::string kernel);

}  // namespace xtune::dispatch
