// Reads record files into rows, in parallel: what a StoreView is made of.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <memory_resource>
#include <string>
#include <string_view>
#include <unordered_map>
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

struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const noexcept { return std::hash<std::string_view>()(text); }
};

/// Values by their JSON text: records of one problem or device name it by the same bytes, nearly always.
template <class T>
struct Interned {
  std::vector<T> values;
  std::unordered_map<std::string, std::uint32_t, TextHash, std::equal_to<>> by_text;
};

struct RowSet {
  std::vector<StoredConfig>
      rows;  ///< in the order of the sources, then of lines; without pruned, drift, sanitized ones
  Interned<Bindings> problems;
  Interned<DeviceInfo> devices;
  std::uint64_t records = 0;  ///< all that were read
  std::uint64_t sanitized = 0;
  std::vector<std::string> warnings;  ///< as read_records has them
  std::vector<std::unique_ptr<std::pmr::monotonic_buffer_resource>> texts;
};

/// threads = 0: as many as the machine has, 8 at most. Reads the same records as read_records does, but for damage in
/// what it passes over.
RowSet read_rows(const std::vector<RecordSource>& sources, unsigned threads = 0);

}  // namespace xtune
