// What can be merged into a store: another store, or a bundle.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace xtune::store {

/// Files of records and artifacts, foreign ones: whoever takes them checks them.
class MergeSource {
 public:
  using Folder = std::pair<std::string, std::string>;  ///< arch, kernel: path components

  struct Packed {
    std::string metadata, image;
    std::string source;  ///< empty: it has none
  };

  virtual ~MergeSource() = default;
  /// The text of each file of record lines, with a name for it. What cannot be read is a warning. Returns how many
  /// files or directories of records were left out: links, or what cannot be read.
  virtual std::uint64_t each_file(
      const std::function<void(const Folder&, const std::string& name, std::string text)>& visit,
      std::vector<std::string>& warnings) = 0;
  virtual std::vector<std::string> artifacts() = 0;  ///< keys, or what stands for them
  /// Throws Error for what cannot be read, or is named by no key.
  virtual Packed artifact(const std::string& key) = 0;
};

/// A file is a bundle, all else a store. Throws Error as Bundle and require_store do.
std::unique_ptr<MergeSource> open_merge_source(const std::filesystem::path& path);

}  // namespace xtune::store
