// Stored results of a run that stay rows until their records are needed.
#pragma once

#include <map>
#include <vector>

#include "core/record/record.hpp"
#include "core/run/tuner.hpp"
#include "core/store/growing_records.hpp"

namespace xtune::run {

/// The order of ranked() for records.
bool ranks_before(const store::GrowingRecords::Row& a, const store::GrowingRecords::Row& b);
/// The lower end of its time's interval, or its time if that is less.
double interval_begin(const store::GrowingRecords::Row& row);
/// The facts of a row that need not be read from its record: key, problem, configuration, outcome and times.
record::Record shown_of(const store::GrowingRecords::Row& row);

/// Of a million stored results nearly all stay rows of about 200 bytes. Records are read for those that may be among
/// the best, and for one or two failures of each outcome as examples for the report. Results that were read are
/// returned and removed from here.
class StoredRows {
 public:
  using Row = store::GrowingRecords::Row;
  explicit StoredRows(TuneObserver& observer) : observer_(observer) {}

  bool empty() const noexcept { return ok_.empty(); }
  /// Adds an ok result with a finite time.
  void add(const Row& row) { ok_.push_back(row); }
  const std::vector<Row>& rows() const noexcept { return ok_; }
  /// Removes the row with this key; returns whether there was one.
  bool remove(const store::KeyDigest& key);
  /// The record of a failure, if it explains more than the examples so far.
  std::optional<record::Record> example(const Row& failure);

  /// The best of those whose intervals begin within reach, up to `most`.
  std::vector<record::Record> read_within(std::size_t most, double reach_ms);
  /// Those that rank among the first `most`, counting those of earlier calls.
  std::vector<record::Record> read_first(std::size_t most);

 private:
  struct Example {
    bool explained = false, sanitizer_report = false;
  };
  TuneObserver& observer_;
  std::vector<Row> ok_;
  std::size_t first_read_ = 0;           ///< number of rows before all of ok_ that were read
  std::map<Outcome, Example> examples_;  ///< messages of the failures that were read
};

}  // namespace xtune::run
