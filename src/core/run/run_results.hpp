// The results of a run so far: its records, its counts, and the best.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/run/run_context.hpp"
#include "core/run/stored_rows.hpp"

namespace xtune::run {

/// Builds the TuneResult. Results from the store that are not needed in full stay rows (stored_rows.hpp): they count,
/// they may be the best, and they are read if the finals or the report need them.
class RunResults {
 public:
  using Row = store::GrowingRecords::Row;
  explicit RunResults(const RunContext& run);

  /// Adds an evaluated configuration's record, or replaces a pruned one by the record of its settling trial. Returns
  /// its index.
  std::size_t put(const Trial& trial, record::Record record);
  /// Adds a stored result that stays a row.
  void put(const Row& row);
  /// Adds records of finals and others on which the answer is based.
  void add_further(record::Record record) { result_.further.push_back(std::move(record)); }
  void count_stored(bool from_peers);
  /// Results with this key turned out to be wrong: they are replaced by this record. There is no best then, until the
  /// remaining results were considered again.
  void refute(const record::Record& wrong);

  /// Makes it the best if it is better than the best so far.
  void consider(std::size_t place);
  void consider(const Row& row);
  bool has_best() const noexcept { return best_score_.has_value(); }
  /// The best by the criterion. Requires has_best.
  const record::Record& best();
  /// The upper end of the best's interval for choosing finalists; infinite: there is no best.
  double finals_reach();
  /// The best; for a row possibly only configuration and times; null: there is none.
  const record::Record* shown_best() const;

  std::uint64_t evaluated() const noexcept { return evaluated_; }
  std::uint64_t from_store() const noexcept { return result_.from_store; }
  const std::vector<record::Record>& records() const noexcept { return result_.records; }
  /// Ok results that are not among the records.
  const std::vector<Row>& rows() const noexcept { return rows_.rows(); }

  /// Reads the rows that may be among this many finalists.
  void read_best(std::size_t most);
  /// Reads the rows that a report shows: the best, and ties with the first of them.
  void read_reported();
  /// To be completed and returned at the end of the run.
  TuneResult& result() noexcept { return result_; }

 private:
  void add_read(std::vector<record::Record> records, Outcome outcome);
  const RunContext& run_;
  TuneResult result_;
  std::uint64_t evaluated_ = 0;
  StoredRows rows_;
  struct BestRow {
    Row row;
    record::Record shown;
    std::optional<record::Record> whole;  ///< set at first use
  };
  std::optional<double> best_score_;
  std::size_t best_ = 0;  ///< index in the records, unless best_row_ is set
  std::optional<BestRow> best_row_;
};

}  // namespace xtune::run
