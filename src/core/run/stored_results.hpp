// The results in a store that a run can use.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/record/record.hpp"
#include "core/store/growing_records.hpp"

namespace xtune::run {

/// The records of one problem on one kind of device: rows of the store, and whole records that other processes have
/// measured since.
class StoredResults {
 public:
  using Row = store::GrowingRecords::Row;

  /// The result for one key.
  struct Answer {
    const record::Record* record = nullptr;  ///< null: see row
    Row row;
    Outcome outcome = Outcome::ok;
    std::int64_t unix_time_ms = 0;
    explicit operator bool() const noexcept { return record || row.config; }
  };

  StoredResults() = default;
  /// The rows' views must outlive this.
  explicit StoredResults(std::vector<Row> rows);

  void add(record::Record record);

  bool empty() const noexcept { return rows_.empty() && records_.empty(); }
  /// The newest result of a first measurement, except that neither a pruned one nor a tainted one replaces a full and
  /// clean one; wrong results always count. Empty: it was not measured, or was taken.
  Answer find(const store::KeyDigest& key) const;
  /// Marks the answer for a key as used.
  void take(const store::KeyDigest& key);
  /// The ok records with this device's driver that were not taken; in no particular order.
  std::vector<const record::Record*> ok_records(const device::DeviceInfo& device) const;
  std::vector<Row> ok_rows(const device::DeviceInfo& device) const;
  /// All records of finals, complete. Those that can no longer be read are omitted.
  const std::vector<record::Record>& finals() const noexcept { return finals_; }

 private:
  std::size_t slot_of(const store::KeyDigest& key) const;
  /// The index of the key's row that was not taken; rows_.size(): there is none.
  std::size_t place_of(const store::KeyDigest& key) const;

  /// By key, open addressing: the index in rows_ plus one, 0 if it is empty; and a part of the key, so that rows of
  /// other keys are rarely read.
  struct Slot {
    std::uint32_t place = 0, tag = 0;
  };
  std::vector<Row> rows_;    ///< one for each key
  std::vector<bool> taken_;  ///< by index in rows_
  std::vector<Slot> slots_;
  std::unordered_map<store::KeyDigest, record::Record, store::KeyDigestHash> records_;
  std::vector<record::Record> finals_;
};

}  // namespace xtune::run
