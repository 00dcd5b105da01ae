// What the store knew before this run, and what other processes of the job store meanwhile.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/record/best.hpp"
#include "core/record/record.hpp"
#include "core/run/record_keeper.hpp"
#include "core/run/run_context.hpp"
#include "core/store/store_view.hpp"

namespace xtune::run {

/// The whole record of a row; nullopt, with a warning: its file was repaired or removed since it was scanned.
std::optional<record::Record> read_row(const store::GrowingRecords::Row& row, TuneObserver& observer);
/// The order of ranked() for records.
bool ranks_before(const store::GrowingRecords::Row& a, const store::GrowingRecords::Row& b);
/// The lower end of its time's interval, or its time if that is less.
double interval_begin(const store::GrowingRecords::Row& row);
/// The facts of a row that need not be read from its record: key, problem, configuration, outcome and times.
record::Record shown_of(const store::GrowingRecords::Row& row);

/// The records of one problem on one kind of device by their keys: rows of the store, and whole records that other
/// processes have measured since. Adds only a few bytes for each of up to a million rows.
class KeyedResults {
 public:
  using Row = store::GrowingRecords::Row;

  /// The result for one key.
  struct Known {
    const record::Record* record = nullptr;  ///< null: see row
    Row row;
    Outcome outcome = Outcome::ok;
    std::int64_t unix_time_ms = 0;
    explicit operator bool() const noexcept { return record || row.config; }
  };

  KeyedResults() = default;
  /// The rows' views must outlive this.
  explicit KeyedResults(std::vector<Row> rows);

  void add(record::Record record);

  bool empty() const noexcept { return rows_.empty() && records_.empty(); }
  /// The newest result of a first measurement, except that neither a pruned one nor a tainted one replaces a full and
  /// clean one; wrong results always count. Empty: it was not measured, or was taken.
  Known find(const store::KeyDigest& key) const;
  /// Marks the result for a key as used.
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

/// Decides which stored results count for a run: options such as `fresh` and `retry_failed`, changed time limits,
/// and a disabled race exclude some of them. Tainted ones are excluded until a measurement of this run is tainted, too,
/// except in a search that processes share, which disturb each other. Results that other processes of the same job
/// stored since they began always count.
class History {
 public:
  using Row = store::GrowingRecords::Row;

  /// Reads the store, warns about unreadable parts, and passes the times of its records to keeper.
  History(const RunContext& run, RecordKeeper& keeper);

  struct Answer {
    std::optional<record::Record> whole;  ///< unset: it was not needed, or could not be read
    Row row;                              ///< set: it stays a row
    bool from_peers = false;              ///< stored by a process of this job
  };
  /// The answer for the key of a configuration, by its index; returned once. A record whose configuration does not
  /// match its key is damaged: it is not used, and a warning reports it.
  std::optional<Answer> take(const store::KeyDigest& key, std::uint64_t index);
  /// Another process's full measurement of a configuration that was pruned before; returned once.
  std::optional<record::Record> take_full(const store::KeyDigest& key);
  void add(record::Record record) { stored_.add(std::move(record)); }
  /// A measurement of this run has these taints. If they might have passed, they have not: from now on tainted results
  /// answer, and a warning reports it.
  void note_taints(const std::vector<std::string>& taints);
  /// Whether the machine or the device is too busy to measure tainted results again.
  bool busy() const noexcept { return busy_; }
  /// Warns if tainted results answered because of that.
  void finish();
  bool empty() const noexcept { return stored_.empty(); }

  /// Ok results that this run did not evaluate, that its space allows and that its spec measures in the same way: as
  /// many of the best as may take part in finals, whose intervals begin before `reach`. Valid until the next call.
  std::vector<const record::Record*> rivals(double reach);
  /// The records of finals that were held of exactly these configurations (by key) and that apply to this run; empty:
  /// there were none since then. A fresh run uses none from before.
  std::vector<record::Record> finals_of_keys(const std::vector<std::string>& keys, record::Tainted tainted,
                                             std::int64_t since_unix_ms = 0) const;
  /// All records of this kernel and architecture.
  const store::GrowingRecords& records() const noexcept { return records_; }

 private:
  std::vector<Row> read(RecordKeeper& keeper);
  std::vector<const record::Record*> read_rivals(double reach);
  bool measure_again(const KeyedResults::Known& found);

  const RunContext& run_;
  std::optional<store::GrowingRecords> own_records_;  ///< unset: TuneOptions::records is used
  store::GrowingRecords& records_;
  KeyedResults stored_;
  bool busy_;
  bool warned_ = false;                ///< of a measurement of this run
  std::size_t tainted_ = 0;            ///< results that answered because of busy_
  std::deque<record::Record> rivals_;  ///< read for the finals
};

}  // namespace xtune::run
