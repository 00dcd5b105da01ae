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
#include "core/measure/statistics.hpp"
#include "core/record/line_reader.hpp"
#include "core/space/value.hpp"
#include "core/store/stored_config.hpp"

namespace xtune::store {

/// A problem's sizes with their bindings_text, which lies in the RowSet.
struct NamedProblem {
  Bindings sizes;
  std::string_view text;
};

using TextArena = std::pmr::monotonic_buffer_resource;

struct RowOptions {
  measure::Statistic statistic = measure::Statistic::median;  ///< what StoredConfig::time_ms is
  bool all = false;      ///< with pruned, drift and sanitized records, which never answer
  unsigned threads = 0;  ///< 0: as many as the machine has, 8 at most
};

struct RowSet {
  /// By piece: in the order of the sources, then of lines.
  std::vector<std::vector<StoredConfig>> pieces;
  std::vector<NamedProblem> problems;       ///< nearly always each once
  std::vector<device::DeviceInfo> devices;  ///< likewise
  std::uint64_t records = 0;                ///< all that were read
  std::uint64_t sanitized = 0;
  std::int64_t newest_unix_ms = 0;    ///< of all that were read; 0: of none
  std::uint64_t unreadable = 0;       ///< sources of which nothing could be read
  std::vector<std::string> warnings;  ///< as read_records has them
  std::vector<std::string> unread;    ///< those of them that stand for more than a line: a file, or its rest
  std::vector<std::unique_ptr<TextArena>> texts;
};

/// Reads the same records as read_records does; but in lines without a checksum, damage in what it passes over stays
/// unnoticed.
RowSet read_rows(const std::vector<record::RecordSource>& sources, const RowOptions& options = {});

}  // namespace xtune::store
