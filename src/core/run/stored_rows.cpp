// Chooses among rows by their times, and reads the chosen ones.
#include "core/run/stored_rows.hpp"

#include <algorithm>
#include <limits>
#include <tuple>

#include "core/run/run_context.hpp"

namespace xtune::run {

bool ranks_before(const store::GrowingRecords::Row& a, const store::GrowingRecords::Row& b) {
  const store::StoredConfig &left = *a.config, &right = *b.config;
  if (left.tainted != right.tainted) return right.tainted;
  if (left.time_ms != right.time_ms) return left.time_ms < right.time_ms;
  return std::tuple(store::config_text(left), left.key) < std::tuple(store::config_text(right), right.key);
}

double interval_begin(const store::GrowingRecords::Row& row) {
  return std::min(row.config->low_ms, row.config->time_ms);
}

record::Record shown_of(const store::GrowingRecords::Row& row) {
  const store::StoredConfig& config = *row.config;
  record::Record record;
  record.key = config.key.hex();
  record.problem = row.view->problem_of(config);
  record.config = store::config_bindings(config);
  record.outcome = config.outcome;
  measure::Summary& time = record.time_ms;
  time.count = 1;
  time.min = time.q1 = time.mean = time.inlier_mean = time.q3 = time.max = time.high = config.time_ms;
  time.median = config.median_ms, time.low = config.low_ms;
  if (config.tainted) record.tainted = {""};
  record.unix_time_ms = config.unix_time_ms;
  return record;
}

bool StoredRows::remove(const store::KeyDigest& key) {
  const auto found = std::find_if(ok_.begin(), ok_.end(), [&](const Row& row) { return row.config->key == key; });
  if (found == ok_.end()) return false;
  ok_.erase(found);
  return true;
}

std::optional<record::Record> StoredRows::example(const Row& failure) {
  const store::StoredConfig& config = *failure.config;
  Example& known = examples_[config.outcome];
  if ((!config.explained || known.explained) && (!config.sanitizer_report || known.sanitizer_report))
    return std::nullopt;
  auto whole = read_row(failure, observer_);
  if (!whole) return std::nullopt;
  known.explained = true;
  known.sanitizer_report = known.sanitizer_report || config.sanitizer_report;
  return whole;
}

std::vector<record::Record> StoredRows::read_within(std::size_t most, double reach_ms) {
  const auto chosen =
      std::partition(ok_.begin(), ok_.end(), [&](const Row& row) { return interval_begin(row) > reach_ms; });
  const auto count = std::min<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(most), ok_.end() - chosen);
  std::partial_sort(chosen, chosen + count, ok_.end(), ranks_before);
  std::vector<record::Record> records;
  for (auto row = chosen; row != chosen + count; ++row)
    if (auto whole = read_row(*row, observer_)) records.push_back(std::move(*whole));
  ok_.erase(chosen, chosen + count);
  return records;
}

std::vector<record::Record> StoredRows::read_first(std::size_t most) {
  if (most <= first_read_) return {};
  std::vector<record::Record> records = read_within(most - first_read_, std::numeric_limits<double>::infinity());
  first_read_ = most;
  return records;
}

}  // namespace xtune::run
