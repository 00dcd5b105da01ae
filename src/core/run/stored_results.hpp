// What a store already answers of a run.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/record/record.hpp"
#include "core/store/growing_records.hpp"

namespace xtune::run {

/// The records of one problem on one kind of device, as a run asks for them: rows of its store, and whole records of
/// what other processes have measured since.
class StoredResults {
 public:
  using Row = store::GrowingRecords::Row;

  /// What a search is told of one key.
  struct Answer {
    const record::Record* record = nullptr;  ///< null: the row has it
    Row row;
    Outcome outcome = Outcome::ok;
    std::int64_t unix_time_ms = 0;
    explicit operator bool() const noexcept { return record || row.config; }
  };

  StoredResults() = default;
  /// The rows' views outlive this.
  explicit StoredResults(std::vector<Row> rows);

  void add(record::Record record);

  bool empty() const noexcept { return rows_.empty() && records_.empty(); }
  /// The newest result of a first measurement, where one that was pruned says nothing against a full one; wrong results
  /// count whenever they were found. Nothing: it was not measured, or was taken.
  Answer find(const store::KeyDigest& key) const;
  /// An answer to a key is given once.
  void take(const store::KeyDigest& key);
  /// The ok ones with this device's driver that were not taken; in no order.
  std::vector<const record::Record*> ok_records(const device::DeviceInfo& device) const;
  std::vector<Row> ok_rows(const device::DeviceInfo& device) const;
  /// All records of finals, whole. Those that cannot be read any more are left out.
  const std::vector<record::Record>& finals() const noexcept { return finals_; }

 private:
  std::size_t slot_of(const store::KeyDigest& key) const;
  /// The place of the key's row that was not taken; rows_.size(): there is none.
  std::size_t place_of(const store::KeyDigest& key) const;

  /// By key, open addressing: the place in rows_ and one, 0 where there is none; and a part of the key, so that rows of
  /// other keys are hardly ever looked at.
  struct Slot {
    std::uint32_t place = 0, tag = 0;
  };
  std::vector<Row> rows_;    ///< of each key one
  std::vector<bool> taken_;  ///< by the place in rows_
  std::vector<Slot> slots_;
  std::unordered_map<store::KeyDigest, record::Record, store::KeyDigestHash> records_;
  std::vector<record::Record> finals_;
};

}  // namespace xtune::run
