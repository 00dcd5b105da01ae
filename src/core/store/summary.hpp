// The contents of a store, in numbers.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace xtune::store {

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

}  // namespace xtune::store
