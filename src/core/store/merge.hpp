// Brings what other stores and bundles hold into this one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace xtune::store {

struct MergeReport {
  std::uint64_t records = 0, artifacts = 0;              ///< that came
  std::uint64_t known_records = 0, known_artifacts = 0;  ///< that were there before
  std::uint64_t refused = 0;          ///< records and artifacts that would have to be written behind a link
  std::uint64_t unread = 0;           ///< record files of `other` that were left out: links, or what cannot be read
  std::vector<std::string> warnings;  ///< what did not come, and why
};

/// Adds the records and artifacts of `other`, a store or a bundle, that `store` lacks; `store` is made where it is
/// missing. Records are compared as lines, and those that are new appear, a file for each kernel and architecture,
/// under a name made of their hash; no file of `store` is ever written to or removed. Lines that are damaged, and files
/// of a newer version, stay out, as do artifacts whose image is not the one that their metadata tell, or none of those
/// that `other`'s records of them measured; of two artifacts of one key the one of the smaller hash stays. So it makes
/// no difference in which order stores are merged, nor how often. What lies behind links in `other` is left out, and
/// nothing is written behind links in `store`: nothing is taken from places outside, nor comes to any. Throws what
/// require_store does where `other` is not a store, and Error(invalid_argument) where it has neither records nor
/// artifacts, what Bundle throws where it is a file but no bundle, Error(io) where
/// `store` cannot be written.
MergeReport merge_store(const std::filesystem::path& store, const std::filesystem::path& other);

}  // namespace xtune::store
