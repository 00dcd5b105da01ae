// What a run has found so far: its records, its counts, and the best.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/run/run_context.hpp"
#include "core/run/stored_rows.hpp"

namespace xtune::run {

/// Builds the TuneResult. Of the results that the store answers, those that nobody needs in full stay rows
/// (stored_rows.hpp): they count, they may be the best, and they are read when the finals or the report ask for them.
class RunResults {
 public:
  using Row = store::GrowingRecords::Row;
  explicit RunResults(const RunContext& run);

  /// An evaluated configuration's record, or that of a trial that settles a pruned one, in its place. Where it is.
  std::size_t put(const Trial& trial, record::Record record);
  /// A stored result that stays a row.
  void put(const Row& row);
  /// The finals and other records that the answer rests on.
  void add_further(record::Record record) { result_.further.push_back(std::move(record)); }
  void count_stored(bool from_peers);
  /// Results with this key were found wrong: they become this record. There is no best then, until what is still good
  /// was considered again.
  void refute(const record::Record& wrong);

  /// Whether it is better than the best so far; then it is the best.
  void consider(std::size_t place);
  void consider(const Row& row);
  bool has_best() const noexcept { return best_score_.has_value(); }
  /// By the criterion. has_best.
  const record::Record& best();
  /// Where the best's interval ends, as far as finals look; infinite: there is no best.
  double finals_reach();
  /// best, of a row perhaps only configuration and times; null: there is none.
  const record::Record* shown_best() const;

  std::uint64_t evaluated() const noexcept { return evaluated_; }
  std::uint64_t from_store() const noexcept { return result_.from_store; }
  const std::vector<record::Record>& records() const noexcept { return result_.records; }
  /// Ok results that are not among the records.
  const std::vector<Row>& rows() const noexcept { return rows_.rows(); }

  /// Reads the rows that may be among so many finalists.
  void read_best(std::size_t most);
  /// Reads what a report shows of the rows: the best, and what ties with the first of them.
  void read_reported();
  /// To be completed and handed out when the run ends.
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
    std::optional<record::Record> whole;  ///< once it was asked for
  };
  std::optional<double> best_score_;
  std::size_t best_ = 0;  ///< its place in the records, unless best_row_ is set
  std::optional<BestRow> best_row_;
};

}  // namespace xtune::run
