// Checks every hash and schema of a store, and moves aside what is damaged.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace xtune::store {

/// Something in a store that is not as it was written.
struct StoreDamage {
  std::string where;      ///< file:line, or a file
  std::string what;       ///< what is wrong, and with what
  bool repaired = false;  ///< moved aside into a .damaged file
  bool movable = true;    ///< repair may move it aside; false: a directory in a file's place, what cannot be read
};

struct VerifyReport {
  std::uint64_t record_files = 0, records = 0, artifacts = 0;
  std::vector<StoreDamage> damage;
  std::vector<std::string> notes;  ///< what is no damage: newer versions, files still being written, what is unfinished
  std::vector<std::string> not_repaired;  ///< with repair: what had to be left as it is, and why
  bool sound() const;                     ///< no damage, or all of it repaired
};

/// Records: each line's JSON and schema; its key against its key_parts, and those parts that the record itself tells
/// (artifact, problem, device) against it. Artifacts: metadata, the image's size and SHA-256, and that against the
/// hashes in the records of this artifact, where there are any. Sources: the SHA-256 that the artifact's metadata have;
/// of earlier versions' their first line. With repair, damaged lines move from FILE.jsonl to FILE.jsonl.damaged beside
/// it, and damaged artifacts to names that end in .damaged; what is sound stays where it is, byte for byte, and a file
/// that its writer may still append to is left alone, as is what lies behind a link. What cannot be read is damage,
/// which repair leaves. Throws what require_store does.
VerifyReport verify_store(const std::filesystem::path& store, bool repair);

}  // namespace xtune::store
