// Removes from a store files that can be made again, and on request also records.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace xtune::store {

struct GcOptions {
  std::optional<std::int64_t> older_than_ms;  ///< remove artifacts whose files have not changed for this long
  std::optional<std::uint64_t> max_bytes;     ///< remove the oldest artifacts until the rest is at most this large
  bool records = false;  ///< also remove record files that have not changed for older_than_ms, which must be set
  bool dry_run = false;  ///< only report
};

struct GcReport {
  struct Removed {
    std::filesystem::path path;
    std::uint64_t bytes = 0;
    std::string why;
  };
  std::vector<Removed> removed;
  std::uint64_t bytes = 0;            ///< of all of them
  std::uint64_t kept_bytes = 0;       ///< size of the remaining artifacts, with their sources
  std::uint64_t record_bytes = 0;     ///< size of the remaining records
  std::uint64_t excess_bytes = 0;     ///< part of kept_bytes above max_bytes that could not be removed
  std::uint64_t failed = 0;           ///< files that should have been removed and could not be
  bool nothing_read = false;          ///< there are files, and none of them could be read
  std::vector<std::string> warnings;  ///< files that could not be removed or judged
};

/// Artifacts that no record names, temporary files, claims of jobs that shared a search, and what interrupted pulls had
/// fetched are removed once they are a day old, because a run or a pull that is in progress may still need them. Files
/// that the options select are removed, too; artifacts of the best configurations are removed last under max_bytes, and
/// an artifact that is being written is kept. If a record file or a directory of them cannot be read, or is of a newer
/// version, no artifact counts as unnamed. Records are kept unless requested. Files behind a link count for naming
/// artifacts, but are never removed, and their sizes do not count. Throws Error(invalid_argument) without a store, and
/// for records without older_than_ms.
GcReport collect_garbage(const std::filesystem::path& store, const GcOptions& options, std::int64_t now_unix_ms);

}  // namespace xtune::store
