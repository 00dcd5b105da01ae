// Reads record files into rows, in parallel: what a StoreView is made of.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <memory_resource>
#include <string>
#include <string_view>
#include <vector>

#include "core/device/device_info.hpp"
#include "core/space/value.hpp"
#include "core/store/stored_config.hpp"

namespace xtune {

/// Where record lines lie: all of a file, or `bytes` of it from `offset` on.
struct RecordSource {
  std::filesystem::path path;
  std::uint64_t offset = 0;
  std::uint64_t bytes = UINT64_MAX;  ///< at most; the end of the file ends it too
  std::string name;                  ///< in warnings
};

/// A problem's sizes with their bindings_text, which lies in the RowSet.
struct NamedProblem {
  Bindings sizes;
  std::string_view text;
};

using TextArena = std::pmr::monotonic_buffer_resource;

struct RowSet {
  /// By piece: in the order of the sources, then of lines; without pruned, drift, sanitized ones.
  std::vector<std::vector<StoredConfig>> pieces;
  std::vector<NamedProblem> problems;  ///< nearly always each once
  std::vector<DeviceInfo> devices;     ///< likewise
  std::uint64_t records = 0;           ///< all that were read
  std::uint64_t sanitized = 0;
  std::int64_t newest_unix_ms = 0;    ///< of all that were read; 0: of none
  std::uint64_t unreadable = 0;       ///< sources of which nothing could be read
  std::vector<std::string> warnings;  ///< as read_records has them
  std::vector<std::unique_ptr<TextArena>> texts;
};

/// threads = 0: as many as the machine has, 8 at most. Reads the same records as read_records does, but for damage in
/// what it passes over.
RowSet read_rows(const std::vector<RecordSource>& sources, unsigned threads = 0);

}  // namespace xtune
