// What lies where in a store.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/record/store_entries.hpp"

namespace xtune::store {

/// <store>/records/<arch>/<kernel>/<name>.jsonl. arch and kernel are path components, see path_component.
struct RecordFile {
  std::filesystem::path path;
  std::string arch, kernel;
};

/// The files of one artifact: image, metadata, source.
struct ArtifactFiles {
  std::vector<std::filesystem::path> files;
  std::uint64_t bytes = 0;
  std::int64_t unix_time_ms = 0;  ///< of the last change to any of them
  bool has_metadata = false;      ///< without, its writer was stopped, or has not come so far yet
  std::filesystem::path link;     ///< that one of the files lies behind; empty: all are the store's own
};

/// A temporary file that its writer left, or still writes.
struct Leftover {
  std::filesystem::path path;
  std::uint64_t bytes = 0;
  std::int64_t unix_time_ms = 0;
};

/// <store>/studies/<job>: the claims of processes that shared a search, of no use once the job has ended.
struct StudyFolder {
  std::filesystem::path path;
  std::uint64_t bytes = 0;
  std::int64_t unix_time_ms = 0;  ///< of the last change to any file of it: a job that runs has a heartbeat
};

/// What a store holds, as far as it can be listed. Links are followed as store_entries does, but for studies and
/// temporary files, which are there to be removed. Names that no store has are passed over.
struct StoreLayout {
  std::vector<RecordFile> records;                 ///< sorted by path
  std::map<std::string, ArtifactFiles> artifacts;  ///< by key
  std::vector<Leftover> leftovers;
  std::vector<StudyFolder> studies;
  std::size_t unreadable_records = 0;          ///< the first so many of `unreadable` are of records
  std::vector<record::Unreadable> unreadable;  ///< folders that cannot be listed, links that lead nowhere
};
StoreLayout layout_of(const std::filesystem::path& store, record::Owners owners = record::Owners::trusted);

/// Throws Error(invalid_argument) where there is no such folder, Error(io) where that cannot be told.
void require_store(const std::filesystem::path& store);

/// "sm_90/gemm": the names that the components stand for, where these can be told.
std::string title_of(const RecordFile& file);

}  // namespace xtune::store
