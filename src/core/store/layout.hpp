// What lies where in a store.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace xtune {

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

/// What a store holds, as far as it can be listed. Links are not followed, and names that no store has are passed over,
/// so that a foreign store leads nowhere else.
struct StoreLayout {
  std::vector<RecordFile> records;                 ///< sorted by path
  std::map<std::string, ArtifactFiles> artifacts;  ///< by key
  std::vector<Leftover> leftovers;
  std::vector<StudyFolder> studies;
  std::vector<std::string> warnings;  ///< folders that cannot be listed
};
StoreLayout layout_of(const std::filesystem::path& store);

/// Throws Error(invalid_argument) where there is no such folder.
void require_store(const std::filesystem::path& store);

/// "sm_90/gemm": the names that the components stand for, where these can be told.
std::string title_of(const RecordFile& file);

}  // namespace xtune
