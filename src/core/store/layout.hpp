// The files of a store.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/store/record_log.hpp"

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
  std::int64_t unix_time_ms = 0;  ///< last change of any of them
  bool has_metadata = false;      ///< false: its writer was stopped, or has not written them yet
  std::filesystem::path link;     ///< a link on the path of one of the files; empty: all are in the store itself
};

/// What is not needed after a writer or a job has ended, which may still run: a temporary file, or a directory
/// <store>/studies/<job>, the claims of processes that shared a search, or <store>/transfers/<source>, the files that a
/// pull has fetched.
struct Leftover {
  std::filesystem::path path;
  const char* what = "";  ///< for people
  std::uint64_t bytes = 0;
  std::int64_t unix_time_ms = 0;  ///< last change of any of its files: a running job has a heartbeat
};

/// The files of a store, as far as they can be listed. Links are followed as in store_entries, except for leftovers,
/// which are candidates for removal. Names that do not belong in a store are skipped.
struct StoreLayout {
  std::vector<RecordFile> records;                 ///< sorted by path
  std::map<std::string, ArtifactFiles> artifacts;  ///< by key
  std::vector<Leftover> leftovers;
  std::size_t unreadable_records = 0;  ///< this many entries at the start of `unreadable` are of records
  std::vector<Unreadable> unreadable;  ///< directories that cannot be listed, dangling links
};
StoreLayout layout_of(const std::filesystem::path& store, Owners owners = Owners::trusted);

/// Throws Error(invalid_argument) if there is no such directory, Error(io) if that cannot be determined.
void require_store(const std::filesystem::path& store);

/// "sm_90/gemm": the names that the components represent, if they can be decoded.
std::string title_of(const RecordFile& file);

}  // namespace xtune::store
