// Checks every hash and schema of a store, and moves damaged parts aside.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace xtune::store {

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

}  // namespace xtune::store
