// What a run found so far: its records and rows, its counts, the best, and the configurations that lost a race.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "core/record/record.hpp"
#include "core/run/run_context.hpp"
#include "core/run/tuner.hpp"
#include "core/store/store_view.hpp"

namespace xtune::run {

/// Builds the TuneResult.
///
/// Of a million stored results nearly all stay rows of about 200 bytes: they count, and they may be the best. Their
/// records are read if the finals or the report need them, and for one or two failures of each outcome as examples.
///
/// A pruned result shows only that its configuration was slower than the incumbent at that time. Another run's
/// incumbent may have been faster than the best of this run, and an incumbent may turn out to be wrong later.
/// Therefore, before the finals each pruned result is compared with the best of this run: if its samples do not show it
/// to be slower, it is doubtful, and its configuration is measured in full, the one with the minimum sample first.
/// Those that lost again are compared once more only if the best was refuted, or the device changed its speed.
class Results {
 public:
  using Row = store::GrowingRecords::Row;
  struct Pruned {
    std::uint64_t index;                ///< in the space
    std::optional<std::size_t> record;  ///< index in records(); unset: it is the row
    Row row;
  };
  explicit Results(const RunContext& run);

  /// Adds an evaluated configuration's record, or replaces one by the record of its settling trial. The
  /// reference is valid until the next call.
  const record::Record& put(const Trial& trial, record::Record record);
  /// Adds a stored result that stays a row. index: of its configuration in the space.
  void put(std::uint64_t index, const Row& row);
  /// Adds records of finals and others on which the answer is based.
  void add_further(record::Record record) { result_.further.push_back(std::move(record)); }
  void count_stored(bool from_peers);
  /// A pruned record may have been measured while the device was this slow.
  void bound(std::size_t place, double slowness);
  /// Those that lost are compared with the best once more.
  void compare_losers_again();
  /// Results with this key turned out to be wrong: they are replaced by this record, and the best is chosen again.
  void refute(const record::Record& wrong);
  /// Removes and returns the most promising pruned one that is doubtful. lost: whether it is slower than the best of
  /// this run.
  std::optional<Pruned> take_doubtful(const std::function<bool(const Pruned&)>& lost);

  bool has_best() const noexcept { return best_score_.has_value(); }
  /// The best by the criterion. Requires has_best.
  const record::Record& best();
  /// The upper end of the best's interval for choosing finalists; infinite: there is no best.
  double finals_reach();
  /// The best; for a row possibly only configuration and times; null: there is none.
  const record::Record* shown_best() const;
  std::uint64_t evaluated() const noexcept { return evaluated_; }
  const std::vector<record::Record>& records() const noexcept { return result_.records; }
  /// Ok results with a finite time that are not among the records.
  const std::vector<Row>& rows() const noexcept { return rows_; }
  /// Reads the rows that may be among this many finalists.
  void read_best(std::size_t count);
  /// Reads the rows that a report shows: the best, and ties with the first of them.
  void read_reported();
  /// To be completed and returned at the end of the run.
  TuneResult& result() noexcept { return result_; }

 private:
  void consider(std::size_t place);
  void consider(const Row& row);
  void choose_best();
  void add_read(record::Record record, Outcome outcome);
  void read_example(const Row& failure);
  void read_within(std::size_t count, double reach_ms);
  void read_first(std::size_t count);

  struct Example {
    bool explained = false, sanitizer_report = false;
  };
  struct BestRow {
    Row row;
    record::Record shown;
    std::optional<record::Record> whole;  ///< set at first use
  };
  const RunContext& run_;
  TuneResult result_;
  std::uint64_t evaluated_ = 0;
  std::vector<Row> rows_;
  std::size_t first_read_ = 0;           ///< number of rows before all of rows_ that were read
  std::map<Outcome, Example> examples_;  ///< messages of the failures that were read
  std::vector<Pruned> open_;
  std::vector<Pruned> lost_;  ///< slower than the best of this run, too
  std::optional<double> best_score_;
  std::size_t best_ = 0;  ///< index in the records, unless best_row_ is set
  std::optional<BestRow> best_row_;
};

}  // namespace xtune::run
