// The rows of record files, from an index of them: the data of a StoreView.
#pragma once

#include <cstdint>
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

class RowReader;

struct RowSet {
  std::vector<record::RecordSource> sources;
  std::vector<RowBlock> blocks;             ///< in the order of sources and lines
  std::vector<NamedProblem> problems;       ///< each once
  std::vector<device::DeviceInfo> devices;  ///< likewise
  std::uint64_t records = 0;                ///< number of records, including those without a row
  std::int64_t newest_unix_ms = 0;          ///< over all of them; 0: none
  std::uint64_t unreadable = 0;             ///< number of sources that cannot be read
  std::vector<std::string> warnings;        ///< as from read_records
  std::vector<std::string> unread;          ///< those of them that stand for more than a line: a file, or its rest
  std::unique_ptr<TextArena> arena;
  std::vector<std::string_view> texts;
  std::shared_ptr<RowReader> reader;  ///< null: all rows were read

  /// The rows of a block, by any thread. keep: later calls return the same; else they are read again unless they are
  /// kept already. Throws RecordsChanged if they must be read from the source, and it has changed.
  std::shared_ptr<const BlockRows> rows_of(const RowBlock& block, bool keep = true) const;
};

/// Returns the records that read_records would return of these sources, which are of one directory. An SQLite database
/// holds the facts of each record and its place, so that only lines are read that are new since the last call, by any
/// process. It is in index_folder(). If it cannot be used, or the sources are small, a database in memory is filled by
/// the same code. A source is read again if it has shrunk, was replaced or was changed before its end. With
/// RowOptions::all, rows are read from the database when they are first needed, else at once.
RowSet read_rows(std::vector<record::RecordSource> sources, const RowOptions& options = {});

/// Removes the index of the directory in which this file is, which does not match the file.
void discard_index(const record::RecordSource& source);

}  // namespace xtune::store
