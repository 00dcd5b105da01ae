// The contents of a store in numbers, a check of all its hashes and schemas, and the removal of what is not needed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/store/export.hpp"

namespace xtune::store {

// The contents of a store, in numbers.

/// One kernel on one architecture.
struct StorePart {
  std::string arch, kernel;
  std::uint64_t records = 0, files = 0, bytes = 0;
  std::uint64_t answers = 0;  ///< combinations of problem and kind of device with a stored configuration
  std::vector<std::string> devices;
  std::int64_t newest_unix_ms = 0;
};

struct StoreSummary {
  std::vector<StorePart> parts;                     ///< by architecture, then kernel
  std::uint64_t artifacts = 0, artifact_bytes = 0;  ///< with their sources
  std::uint64_t unreadable = 0;                     ///< directories and files that could not be read
  std::vector<std::string> warnings;
  bool nothing_read() const;  ///< there are files, and none of them could be read
};

/// Throws what require_store does.
StoreSummary summary_of(const std::filesystem::path& store);

// Checks every hash and schema of a store, and moves damaged parts aside.

/// A part of a store that is not as it was written.
struct StoreDamage {
  std::string where;      ///< file:line, or a file
  std::string what;       ///< the problem and its object
  bool repaired = false;  ///< moved aside into a .damaged file
  bool movable = true;    ///< repair can move it aside; false: a directory in place of a file, or an unreadable file
};

struct VerifyReport {
  std::uint64_t record_files = 0, records = 0, artifacts = 0;
  std::vector<StoreDamage> damage;
  std::vector<std::string> notes;         ///< not damage: newer versions, files still being written, unfinished ones
  std::vector<std::string> not_repaired;  ///< with repair: damage that could not be repaired, and why
  bool sound() const;                     ///< no damage, or all of it repaired
};

/// Records: each line's JSON and schema; its key against its key_parts, and the parts that the record itself contains
/// (artifact, problem, device) against it. Artifacts: metadata, the image's size and SHA-256, and that against the
/// hashes in the records of this artifact, if there are any. Sources: the SHA-256 in the artifact's metadata; in
/// earlier versions their first line. With repair, damaged lines move from FILE.jsonl to FILE.jsonl.damaged in the same
/// directory, and damaged artifacts to names that end in .damaged. Intact data is unchanged, byte for byte, and a file
/// that its writer may still append to is not touched, nor are files behind a link. Unreadable files are damage, which
/// repair does not touch. Throws as require_store does.
VerifyReport verify_store(const std::filesystem::path& store, bool repair);

// Removes from a store files that can be made again, and on request also records.

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

/// Removes the records of the kernels and architectures that the filter selects (not by problem), and the artifacts
/// that only these records name. Files that a run may still write, and those behind a link, stay with a warning.
/// dry_run: only report. Throws as filtered_parts.
GcReport remove_kernels(const std::filesystem::path& store, const WinnerFilter& filter, bool dry_run,
                        std::int64_t now_unix_ms);

/// Artifacts that no record names, temporary files, claims of jobs that shared a search, and what interrupted pulls had
/// fetched are removed once they are a day old, because a run or a pull that is in progress may still need them. Files
/// that the options select are removed, too; artifacts of the best configurations are removed last under max_bytes, and
/// an artifact that is being written is kept. If a record file or a directory of them cannot be read, or is of a newer
/// version, no artifact counts as unnamed. Records are kept unless requested. Files behind a link count for naming
/// artifacts, but are never removed, and their sizes do not count. Throws Error(invalid_argument) without a store, and
/// for records without older_than_ms.
GcReport collect_garbage(const std::filesystem::path& store, const GcOptions& options, std::int64_t now_unix_ms);

}  // namespace xtune::store
