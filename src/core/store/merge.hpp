// Copies the contents of other stores and bundles into this one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace xtune::store {

struct MergeReport {
  std::uint64_t records = 0, artifacts = 0;              ///< that were added
  std::uint64_t known_records = 0, known_artifacts = 0;  ///< that were already in the store
  std::uint64_t refused = 0;          ///< records and artifacts that would have to be written behind a link
  std::uint64_t unread = 0;           ///< record files of `other` that were skipped: links, or unreadable files
  std::vector<std::string> warnings;  ///< what was not added, and why
  std::vector<std::string> notes;     ///< last lines of record files that are not finished; they are not damaged
};

/// Adds the records and artifacts of `other`, a store or a bundle, that `store` does not have; `store` is created if it
/// is missing. Records are compared as lines, and new ones are put into one file for each kernel and architecture,
/// whose name is a hash of them; existing files of `store` are never written to or removed. Damaged lines and files of
/// a newer version are skipped, and so are artifacts whose image does not match their metadata, or none of the images
/// that `other`'s records measured. Of two artifacts with one key the one with the smaller hash is kept. Therefore the
/// result does not depend on the order in which stores are merged, nor on repetitions. Files behind links in `other`
/// are skipped, and nothing is written behind links in `store`, so no files outside of the stores are read or written.
/// Throws the errors of require_store if `other` is not a store, Error(invalid_argument) if it has neither records nor
/// artifacts, the errors of Bundle if it is a file but not a bundle, and Error(io) if `store` cannot be written.
MergeReport merge_store(const std::filesystem::path& store, const std::filesystem::path& other);

// Sources for a merge into a store: another store, or a bundle.

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
