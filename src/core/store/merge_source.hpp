// Sources for a merge into a store: another store, or a bundle.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace xtune::store {

/// Files of records and artifacts from elsewhere: the caller must check them.
class MergeSource {
 public:
  using Folder = std::pair<std::string, std::string>;  ///< arch, kernel: path components

  struct Packed {
    std::string metadata, image;
    std::string source;  ///< empty: none
  };

  virtual ~MergeSource() = default;
  /// Calls back with the text of each file of record lines, and a name for it. Files that cannot be read give a
  /// warning. Returns the number of files or directories of records that were skipped: links, or unreadable ones.
  virtual std::uint64_t each_file(
      const std::function<void(const Folder&, const std::string& name, std::string text)>& visit,
      std::vector<std::string>& warnings) = 0;
  virtual std::vector<std::string> artifacts() = 0;  ///< keys, or names that replace them
  /// Throws Error if it cannot be read, or has no valid key.
  virtual Packed artifact(const std::string& key) = 0;
};

/// Opens a file as a bundle, anything else as a store. Throws Error as Bundle and require_store do.
std::unique_ptr<MergeSource> open_merge_source(const std::filesystem::path& path);

}  // namespace xtune::store
