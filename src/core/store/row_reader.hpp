// Reads record files into rows, in parallel: the data of a StoreView.
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

/// A problem's sizes with their bindings_text, which is stored in the RowSet.
struct NamedProblem {
  Bindings sizes;
  std::string_view text;
};

using TextArena = std::pmr::monotonic_buffer_resource;

struct RowOptions {
  measure::Statistic statistic = measure::Statistic::median;  ///< that of StoredConfig::time_ms
  bool all = false;      ///< include pruned, drift and sanitized records, which are never used as answers
  unsigned threads = 0;  ///< 0: as many as the machine has, up to 8
};

struct RowSet {
  /// By piece, in the order of the sources, then of lines.
  std::vector<std::vector<StoredConfig>> pieces;
  std::vector<NamedProblem> problems;       ///< nearly always each once
  std::vector<device::DeviceInfo> devices;  ///< likewise
  std::uint64_t records = 0;                ///< number of records that were read
  std::uint64_t sanitized = 0;
  std::int64_t newest_unix_ms = 0;    ///< over all records that were read; 0: none
  std::uint64_t unreadable = 0;       ///< as from read_records
  std::vector<std::string> warnings;  ///< warnings that are about more than one line: a file, or its rest
  std::vector<std::string> unread;    ///< those of them that stand for more than a line: a file, or its rest
  std::vector<std::unique_ptr<TextArena>> texts;
};

/// Reads the same records as read_records; but in lines without a checksum, damage in skipped members is not noticed.
RowSet read_rows(const std::vector<record::RecordSource>& sources, const RowOptions& options = {});

}  // namespace xtune::store
