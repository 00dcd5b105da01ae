// Removes from a store what can be made again, and, where told, what cannot.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace xtune::store {

struct GcOptions {
  std::optional<std::int64_t> older_than_ms;  ///< artifacts whose files have not changed for so long go
  std::optional<std::uint64_t> max_bytes;     ///< artifacts go until those that stay are no larger in all, oldest first
  bool records = false;  ///< record files that have not changed for older_than_ms go too; needs that
  bool dry_run = false;  ///< only tells
};

struct GcReport {
  struct Removed {
    std::filesystem::path path;
    std::uint64_t bytes = 0;
    std::string why;
  };
  std::vector<Removed> removed;
  std::uint64_t bytes = 0;            ///< of all of them
  std::uint64_t kept_bytes = 0;       ///< of the artifacts that stay, with their sources
  std::uint64_t record_bytes = 0;     ///< of the records that stay
  std::uint64_t excess_bytes = 0;     ///< of kept_bytes beyond max_bytes: what could not go
  std::uint64_t failed = 0;           ///< files that should have gone and could not be removed
  bool nothing_read = false;          ///< there is something, and none of it could be read
  std::vector<std::string> warnings;  ///< what could not be removed, or not be decided
};

/// Artifacts that no record names, temporary files, and claims of jobs that shared a search go once they are a day old:
/// a run that is under way may still want them. So do those that the options name; artifacts of the best configurations
/// go last under max_bytes, and one that is just being written stays. Where a record file or a folder of them cannot be
/// read, or is of a newer version, no artifact counts as unnamed. Records stay unless told. What lies behind a link
/// counts as naming artifacts, but never goes, nor do its bytes count. Throws Error(invalid_argument) without a store,
/// and for records without older_than_ms.
GcReport collect_garbage(const std::filesystem::path& store, const GcOptions& options, std::int64_t now_unix_ms);

}  // namespace xtune::store
