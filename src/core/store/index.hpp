// The rows of record files, from an index of them: the data of a StoreView.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <memory_resource>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.hpp"
#include "core/device/device_info.hpp"
#include "core/measure/statistics.hpp"
#include "core/space/space.hpp"
#include "core/space/value.hpp"
#include "core/store/record.hpp"
#include "core/store/record_log.hpp"
#include "xtune/error.hpp"

namespace xtune::store {

// The part of a record that a StoreView keeps.

/// 128 bits of a key, in the order of the keys: the first half of a SHA-256, or a hash of another text. Empty: no key.
class KeyDigest {
 public:
  KeyDigest() = default;
  explicit KeyDigest(std::string_view key);
  /// From the SHA-256 of a key.
  explicit KeyDigest(const base::Sha256& hash) { std::memcpy(&bytes_, &hash, 16); }
  static KeyDigest of_bytes(std::string_view bytes);  ///< as from bytes()
  bool empty() const noexcept { return *this == KeyDigest(); }
  std::string hex() const;
  /// Refers to this object.
  std::string_view bytes() const noexcept { return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()}; }
  auto operator<=>(const KeyDigest&) const = default;
  bool operator==(const KeyDigest& other) const noexcept { return std::memcmp(&bytes_, &other.bytes_, 16) == 0; }

 private:
  std::array<unsigned char, 16> bytes_{};
};

struct KeyDigestHash {
  std::size_t operator()(const KeyDigest& key) const noexcept {
    std::size_t hash = 0;  // the bytes are already a hash
    std::memcpy(&hash, key.bytes().data(), sizeof hash);
    return hash;
  }
};

struct StoredConfig;

/// The rows of a block, in the order of their lines.
struct BlockRows {
  std::vector<StoredConfig> rows;
  std::string values;  ///< of the rows
};

/// Consecutive records of one source that have all of this in common. Refers to the RowSet it belongs to.
struct RowBlock {
  const RecordSource* source = nullptr;
  std::uint32_t file = 0;                 ///< number of the source
  std::uint32_t problem = 0, device = 0;  ///< numbers of the RowSet
  const Bindings* sizes = nullptr;        ///< of the problem
  const device::DeviceInfo* measured_on = nullptr;
  std::string_view names;                       ///< of the parameters, by encode_bindings
  std::string_view attempt, finals, finals_by;  ///< finals: their id; empty: not from finals
  bool sanitized = false;
  std::uint32_t records = 0, answers = 0, ranks = 0;  ///< answers: neither pruned nor drift; ranks: ok ones of these
  std::int64_t newest_unix_ms = 0;
  std::int64_t id = 0;                                 ///< in the index
  std::uint64_t offset = 0, bytes = 0;                 ///< of its lines in the source
  mutable std::shared_ptr<const BlockRows> rows = {};  ///< once they were read: RowSet::rows_of
};

/// The parts of one record that are needed for choosing: 112 bytes, as there may be millions.
struct StoredConfig {
  KeyDigest key, artifact_key;
  const RowBlock* block = nullptr;
  const char* values_begin = nullptr;
  double time_ms = 0;  ///< of the ranking statistic; infinite: none
  double median_ms = 0;
  double low_ms = 0;  ///< lower end of the median's interval; for a pruned record its minimum sample
  double compile_cpu_s = 0;
  std::int64_t unix_time_ms = 0;
  std::uint32_t place = 0, bytes = 0;  ///< of the whole record: from the block's begin
  std::uint32_t samples = 0;           ///< for a pruned record: number of samples
  std::uint32_t values_bytes = 0;
  Outcome outcome = Outcome::ok;
  bool tainted = false, drift = false;
  bool explained = false, sanitizer_report = false;  ///< for a failure: its message is not empty; it is such a report

  std::string_view values() const noexcept { return {values_begin, values_bytes}; }  ///< by encode_bindings
  std::string_view names() const noexcept { return block->names; }                   ///< likewise
  const Bindings& problem() const noexcept { return *block->sizes; }
  const device::DeviceInfo& device() const noexcept { return *block->measured_on; }
  std::uint64_t offset() const noexcept { return block->offset + place; }  ///< in the source
  bool is_of_finals() const noexcept { return !block->finals.empty(); }
};

using Row = const StoredConfig*;
using ConfigOrder = std::vector<Row>;

/// Error(io): a file that a row was read from was removed or changed.
struct RecordsChanged : Error {
  using Error::Error;
};

/// The whole record, from its file. Throws RecordsChanged.
Record read_record(const StoredConfig& config);
Record read_record(const RecordSource& source, std::uint64_t offset, std::uint64_t bytes);

/// Names and values as bytes: equal ones for equal bindings, and different ones for others.
void encode_bindings(const Bindings& bindings, std::string& names, std::string& values);
Bindings decode_bindings(std::string_view names, std::string_view values);

/// A space's configurations as names and values, without Bindings.
class ConfigForm {
 public:
  explicit ConfigForm(const std::vector<space::Parameter>& parameters);
  const std::string& names() const noexcept { return names_; }
  std::string_view encode(const space::Config& config);  ///< its values; valid until the next call
  /// False: the names are others. May be called in several threads.
  bool decode(std::string_view names, std::string_view values, space::Config& config) const;

 private:
  std::string names_, values_;
  std::vector<std::size_t> places_;  ///< of the parameters, by name
};

/// The configuration's bindings_text: "A=1 B=2", by name.
std::string config_text(const StoredConfig& config);
Bindings config_bindings(const StoredConfig& config);

// The rows of record files, from an index of them: the data of a StoreView.

/// A problem's sizes with their bindings_text, which is stored in the RowSet.
struct NamedProblem {
  Bindings sizes;
  std::string_view text;
};

using TextArena = std::pmr::monotonic_buffer_resource;

struct RowOptions {
  measure::Statistic statistic = measure::Statistic::median;  ///< that of StoredConfig::time_ms, which ranks
  /// Include pruned, drift and sanitized records, which are never used as answers. False: pruned ones only where there
  /// are tainted times, against which they count.
  bool all = false;
};

class RowIndex;

struct RowSet {
  std::deque<RecordSource> sources;
  std::deque<RowBlock> blocks;             ///< in the order of sources and lines, until read_more adds some
  std::deque<NamedProblem> problems;       ///< each once
  std::deque<device::DeviceInfo> devices;  ///< likewise
  std::uint64_t records = 0;               ///< number of records, including those without a row
  std::int64_t newest_unix_ms = 0;         ///< over all of them; 0: none
  std::uint64_t unreadable = 0;            ///< number of sources that cannot be read
  bool disturbed = false;                  ///< some times are tainted; only set without RowOptions::all
  std::vector<std::string> warnings;       ///< as from read_records
  std::vector<std::string> unread;         ///< those of them that stand for more than a line: a file, or its rest
  std::unique_ptr<TextArena> arena;
  std::vector<std::string_view> texts;
  std::shared_ptr<RowIndex> index;  ///< null: all rows were read

  /// The rows of a block, by any thread. keep: later calls return the same. Throws RecordsChanged if they must be read
  /// from the source, and it has changed.
  std::shared_ptr<const BlockRows> rows_of(const RowBlock& block, bool keep = true) const;
  void forget_rows() const;  ///< none may be in use; they are read again
  template <class Visit>
  void each_row(const Visit& visit) const {
    for (const RowBlock& block : blocks)
      for (const StoredConfig& row : rows_of(block)->rows) visit(row);
  }
};

/// Returns the records that read_records would return of these sources, which are of one directory. An SQLite database
/// holds the facts of each record and its place, so that only lines are read that are new since the last call, by any
/// process. It is in index_folder(). If it cannot be used, or the sources are small, a database in memory is filled by
/// the same code. A source is read again if it has shrunk, was replaced or was changed before its end. With
/// RowOptions::all, rows are read from the database when they are first needed, else at once.
RowSet read_rows(std::vector<RecordSource> sources, const RowOptions& options = {});
/// Adds what was appended to the sources since, and the records of further ones in the same directory. False: something
/// else has changed; the set must not be used any more. Needs RowOptions::all.
bool read_more(RowSet& set, const std::vector<RecordSource>& further);

/// Removes the index of the directory in which this file is, which does not match the file.
void discard_index(const RecordSource& source);

}  // namespace xtune::store
