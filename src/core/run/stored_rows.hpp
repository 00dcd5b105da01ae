// Stored results of a run that stay rows until somebody needs their records.
#pragma once

#include <map>
#include <vector>

#include "core/record/record.hpp"
#include "core/run/tuner.hpp"
#include "core/store/growing_records.hpp"

namespace xtune::run {

/// As ranked() orders records.
bool ranks_before(const store::GrowingRecords::Row& a, const store::GrowingRecords::Row& b);
/// The lower end of its time's interval, or its time where that is less.
double interval_begin(const store::GrowingRecords::Row& row);
/// What can be said of a row without reading its record: key, problem, configuration, outcome and times.
record::Record shown_of(const store::GrowingRecords::Row& row);

/// Of a million stored results nearly all stay rows of some 200 bytes. Read are those that may be among the best, and
/// one or two failures of each outcome as examples for the report. What was read is handed over and is no longer here.
class StoredRows {
 public:
  using Row = store::GrowingRecords::Row;
  explicit StoredRows(TuneObserver& observer) : observer_(observer) {}

  bool empty() const noexcept { return ok_.empty(); }
  /// An ok result with a finite time.
  void add(const Row& row) { ok_.push_back(row); }
  const std::vector<Row>& rows() const noexcept { return ok_; }
  /// Whether there was a row with this key; it is removed.
  bool remove(const store::KeyDigest& key);
  /// Of a failed one: its record, where it explains more than the examples so far.
  std::optional<record::Record> example(const Row& failure);

  /// The best of those whose intervals begin within reach, `most` at most.
  std::vector<record::Record> read_within(std::size_t most, double reach_ms);
  /// Those that rank among the first `most`, earlier calls included.
  std::vector<record::Record> read_first(std::size_t most);

 private:
  struct Example {
    bool explained = false, sanitizer_report = false;
  };
  TuneObserver& observer_;
  std::vector<Row> ok_;
  std::size_t first_read_ = 0;           ///< so many that rank before all of ok_ were read
  std::map<Outcome, Example> examples_;  ///< what the failures that were read say
};

}  // namespace xtune::run
