// What the store knew before this run, and what other processes of the job store meanwhile.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/run/record_keeper.hpp"
#include "core/run/run_context.hpp"
#include "core/store/best.hpp"
#include "core/store/record.hpp"
#include "core/store/store_view.hpp"

namespace xtune::run {

using store::Row;

/// The whole record of a row; nullopt, with a warning: its file was repaired or removed since it was scanned.
std::optional<store::Record> read_row(Row row, TuneObserver& observer);
/// The order of ranked() for records.
bool ranks_before(Row a, Row b);
/// The lower end of its time's interval, or its time if that is less.
double interval_begin(Row row);
/// The facts of a row that need not be read from its record: key, problem, configuration, outcome and times.
store::Record shown_of(Row row);

/// The results of one problem on one kind of device that this run did not measure: rows of the store, and whole records
/// that other processes have stored since. Beside the rows it takes about 25 bytes for each of up to a million.
///
/// Of one key, the newest result of a first measurement counts, except that neither a pruned one nor a tainted one
/// replaces a full and clean one; wrong results always count. This class decides which of them a run uses: options such
/// as `fresh` and `retry_failed`, changed time limits, and a disabled race exclude some of them. Tainted ones are
/// excluded until a measurement of this run is tainted, too, except in a search that processes share, which disturb
/// each other. Results that other processes of the same job stored since they began always count.
class StoredResults {
 public:
  /// Reads the store, warns about unreadable parts, and passes the times of its records to keeper.
  StoredResults(const RunContext& run, RecordKeeper& keeper);

  struct Answer {
    std::optional<store::Record> whole;  ///< unset: it was not needed, or could not be read
    Row row = nullptr;                   ///< set: it stays a row
    bool from_peers = false;             ///< stored by a process of this job
  };
  /// The answer for the key of a configuration; returned once. A record whose configuration does not match its key is
  /// damaged: it is not used, and a warning reports it.
  std::optional<Answer> take(const store::KeyDigest& key, const space::Config& config);
  /// A record of any problem whose compile of one of these artifacts failed, since a binary of any problem counts, too;
  /// nullopt: none, or the run is a fresh one.
  std::optional<store::Record> failed_compile(const std::vector<std::string>& artifact_keys);
  /// Another process's full measurement of a configuration that was pruned before; returned once.
  std::optional<store::Record> take_full(const store::KeyDigest& key);
  void add(store::Record record);
  /// A measurement of this run has these taints. If they might have passed, they have not: from now on tainted results
  /// answer, and a warning reports it.
  void note_taints(const std::vector<std::string>& taints);
  /// Whether the machine or the device is too busy to measure tainted results again.
  bool busy() const noexcept { return busy_; }
  /// Warns if tainted results answered because of that.
  void finish();
  bool empty() const noexcept { return left_ == 0; }

  /// Ok results that this run did not evaluate, that its space allows and that its spec measures in the same way: as
  /// many of the best as may take part in finals, whose intervals begin before `reach`. Valid until the next call.
  std::vector<const store::Record*> rivals(double reach);
  /// All records of finals.
  const std::vector<store::Record>& finals() const noexcept { return finals_; }
  /// The records of finals in which all of these configurations (by key) met and that apply to this run; empty:
  /// there were none since then. A fresh run uses none from before.
  std::vector<store::Record> finals_of_keys(const std::vector<std::string>& keys, store::Tainted tainted,
                                            std::int64_t since_unix_ms = 0) const;
  /// All records of this kernel and architecture.
  const store::GrowingRecords& records() const noexcept { return records_; }

 private:
  /// The result of a key; with neither record nor row, the run took it.
  struct Known {
    store::KeyDigest key;
    Row row = nullptr;
    std::unique_ptr<store::Record> record = {};  ///< null: see row
    bool is_left() const noexcept { return row || record; }
  };
  struct Facts {
    Outcome outcome;
    bool tainted;
    std::int64_t unix_time_ms;
  };
  static Facts facts_of(const Known& known);
  static bool supersedes(const Facts& later, const Facts& earlier);
  std::uint32_t& number_of(const store::KeyDigest& key);
  Known* find(const store::KeyDigest& key);
  void put(Known known);
  void drop(Known& known);
  store::ConfigOrder read(RecordKeeper& keeper);
  void add(Row row);
  std::optional<store::Record> whole(const Known& known) const;
  bool measure_again(const Known& known);
  bool have_parted(const std::vector<const store::Record*>& finals, const std::vector<std::string>& keys,
                   const std::string& id) const;
  std::vector<const store::Record*> read_rivals(double reach);

  const RunContext& run_;
  store::ConfigForm form_;
  std::optional<store::GrowingRecords> own_records_;  ///< unset: TuneOptions::records is used
  store::GrowingRecords& records_;
  store::KeyTable<store::KeyDigest, store::KeyDigestHash> numbers_;  ///< of known_
  std::vector<Known> known_;
  std::size_t left_ = 0;               ///< number of known_ that were not taken
  std::vector<store::Record> finals_;  ///< all records of finals
  bool busy_;
  bool warned_ = false;               ///< of a measurement of this run
  std::size_t tainted_ = 0;           ///< results that answered because of busy_
  std::deque<store::Record> rivals_;  ///< read for the finals
  /// Compiles, by their artifacts' keys; unset: not read yet.
  std::optional<std::unordered_map<store::KeyDigest, Row, store::KeyDigestHash>> failed_;
};

}  // namespace xtune::run
