// Copies a store's new files to a copy of the store elsewhere, or takes those from there.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/store/merge.hpp"
#include "core/store/remote.hpp"

namespace xtune::store {

struct TransferReport {
  std::vector<std::string> files;     ///< that were copied, or on a dry run would be: their paths in the store there
  std::uint64_t bytes = 0;            ///< their size
  std::uint64_t record_files = 0;     ///< the number of them that hold records
  MergeReport merge;                  ///< pull: what was added to the store, and what was refused
  std::vector<std::string> warnings;  ///< what was not copied, and why: links, unreadable files, names of others
};

/// Copies what `remote` lacks: artifacts by key, and record files by name. No file there is replaced or removed. A
/// record file only grows at its end, so if it is longer here than there, its new lines become a file of their own,
/// NAME.FROM-TO.jsonl, with the positions of the lines in the whole file. A line that is still being written is not
/// copied. Files behind links are skipped with a warning. Throws the errors of require_store and Remote; Error(io) if
/// a copied file is not there afterwards.
TransferReport push_store(const std::filesystem::path& store, Remote& remote, bool dry_run);

/// The inverse: fetches the files that `store` lacks into a directory of the store, checks all records and artifacts as
/// merge_store does, and adds those that are sound. Record files keep their names, so that they are not fetched again.
/// The report names files as they are called at the remote.
/// place: the name of the remote, by which an interrupted pull is continued. Throws Error(invalid_argument) if there is
/// no store at the remote, and the errors of Remote and merge_store.
TransferReport pull_store(const std::filesystem::path& store, const std::string& place, Remote& remote, bool dry_run);

}  // namespace xtune::store
