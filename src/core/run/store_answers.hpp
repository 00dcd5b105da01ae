// The answers of the store, and of the other processes of a job, for a run.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "core/record/finals.hpp"
#include "core/run/record_keeper.hpp"
#include "core/run/run_context.hpp"
#include "core/run/stored_results.hpp"

namespace xtune::run {

/// Decides which stored results count for this run: options such as `fresh` and `retry_failed`, changed time limits,
/// and a disabled race exclude some of them. Tainted ones are excluded until a measurement of this run is tainted, too,
/// except in a search that processes share, which disturb each other. Results that other processes of the same job
/// stored since they began always count.
class StoreAnswers {
 public:
  using Row = store::GrowingRecords::Row;

  /// Reads the store, warns about unreadable parts, and passes the times of its records to keeper.
  StoreAnswers(const RunContext& run, RecordKeeper& keeper);

  struct Answer {
    std::optional<record::Record> whole;  ///< unset: it was not needed, or could not be read
    Row row;                              ///< set: it stays a row
    bool of_today = false;                ///< stored by a process of this job
  };
  /// The answer for the key of a configuration, by its index; returned once. A record whose configuration does not
  /// match its key is damaged: it is not used, and a warning reports it.
  std::optional<Answer> take(const store::KeyDigest& key, std::uint64_t index);
  /// Another process's full measurement of a configuration that was pruned before; returned once.
  std::optional<record::Record> take_full(const store::KeyDigest& key);
  void add(record::Record record) { stored_.add(std::move(record)); }
  /// A measurement of this run has these taints. If they might have passed, they have not: from now on tainted results
  /// answer, and a warning reports it.
  void tainted_now(const std::vector<std::string>& taints);
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
  static bool means_the_same(const Bindings& a, const Bindings& b);
  /// Whether a goal has no value because the record does not say whether launches repeat their bits.
  bool lacks_a_goal(const record::Record& record) const;
  bool measure_again(const StoredResults::Answer& found);
  bool asked_today(const Bindings& config, const store::KeyDigest& key) const;
  const RunContext& run_;
  std::optional<store::GrowingRecords> own_records_;  ///< unset: TuneOptions::records is used
  store::GrowingRecords& records_;
  StoredResults stored_;
  bool busy_;
  bool warned_ = false;                ///< of a measurement of this run
  std::size_t tainted_ = 0;            ///< results that answered because of busy_
  std::deque<record::Record> rivals_;  ///< read for the finals
};

}  // namespace xtune::run
