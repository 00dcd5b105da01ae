// Adds records and rows to the result, and updates its counts.
#include "core/run/run_results.hpp"

#include <algorithm>
#include <cmath>

#include "core/record/finals.hpp"

namespace xtune::run {
namespace {

void drop(std::map<Outcome, std::uint64_t>& counts, Outcome outcome) {
  if (--counts[outcome] == 0) counts.erase(outcome);
}

}  // namespace

RunResults::RunResults(const RunContext& run) : run_(run), rows_(run.observer) {
  result_.problem = run.problem;
  result_.device = run.target.device;
  result_.space_size = run.space.size();
  if (const auto index = run.suggested.default_index) result_.default_config = run.space.named(run.space.at(*index));
}

std::size_t RunResults::put(const Trial& trial, record::Record record) {
  const bool settled = trial.purpose == Trial::Purpose::settle;
  const std::size_t place = settled && trial.replaces ? *trial.replaces : result_.records.size();
  if (settled) drop(result_.counts, Outcome::pruned);
  if (settled && !trial.replaces) drop(result_.unread, Outcome::pruned);
  if (!settled) ++evaluated_;
  ++result_.counts[record.outcome];
  if (place < result_.records.size())
    result_.records[place] = std::move(record);
  else
    result_.records.push_back(std::move(record));
  if (result_.records[place].outcome == Outcome::ok && run_.measures()) consider(place);
  return place;
}

void RunResults::put(const Row& row) {
  const store::StoredConfig& config = *row.config;
  ++evaluated_;
  ++result_.counts[config.outcome];
  ++result_.unread[config.outcome];
  if (config.outcome == Outcome::pruned) return;
  if (config.outcome != Outcome::ok) {
    std::vector<record::Record> example;
    if (auto whole = rows_.example(row)) example.push_back(std::move(*whole));
    return add_read(std::move(example), config.outcome);
  }
  if (!std::isfinite(config.time_ms)) return;
  rows_.add(row);
  consider(row);
}

void RunResults::count_stored(bool from_peers) {
  ++result_.from_store;
  result_.from_peers += from_peers;
}

void RunResults::refute(const record::Record& wrong) {
  for (record::Record& record : result_.records) {
    if (record.key != wrong.key || record.outcome != Outcome::ok) continue;
    drop(result_.counts, Outcome::ok);
    ++result_.counts[Outcome::wrong_result];
    record = wrong;
  }
  if (rows_.remove(store::KeyDigest(wrong.key))) {
    drop(result_.unread, Outcome::ok);
    drop(result_.counts, Outcome::ok);
    ++result_.counts[wrong.outcome];
    result_.records.push_back(wrong);
  }
  best_score_.reset();
  best_row_.reset();
}

void RunResults::consider(std::size_t place) {
  const double score = run_.criterion.of(result_.records[place]);
  if (!std::isfinite(score) || (best_score_ && score >= *best_score_)) return;
  best_score_ = score;
  best_ = place;
  best_row_.reset();
}

void RunResults::consider(const Row& row) {
  const double score = row.config->time_ms;
  if (best_score_ && score >= *best_score_) return;
  best_score_ = score;
  best_row_ = {row, shown_of(row), std::nullopt};
}

const record::Record& RunResults::best() {
  if (!best_row_) return result_.records[best_];
  if (!best_row_->whole) {
    auto whole = read_row(best_row_->row, run_.observer);
    best_row_->whole = whole ? std::move(*whole) : best_row_->shown;  // read, and warned about, only once
  }
  return *best_row_->whole;
}

double RunResults::finals_reach() {
  return has_best() ? run_.criterion.interval(best(), record::finals_drift_of_days).second : HUGE_VAL;
}

const record::Record* RunResults::shown_best() const {
  if (!best_score_) return nullptr;
  return best_row_ ? &best_row_->shown : &result_.records[best_];
}

void RunResults::add_read(std::vector<record::Record> records, Outcome outcome) {
  for (record::Record& record : records) {
    result_.records.push_back(std::move(record));
    drop(result_.unread, outcome);
  }
}

void RunResults::read_best(std::size_t most) {
  if (rows_.empty()) return;
  add_read(rows_.read_first(most), Outcome::ok);
  const auto order = record::ranked(result_.records, run_.criterion);
  if (order.empty()) return;
  const double reach_ms = run_.criterion.interval(*order.front(), record::finals_drift_of_days).second;
  add_read(rows_.read_within(most, reach_ms), Outcome::ok);
}

void RunResults::read_reported() {
  if (rows_.empty()) return;
  const TuneOptions& options = run_.options;
  add_read(rows_.read_first(std::max({options.best_only.value_or(0), options.top, std::size_t{1}})), Outcome::ok);
  const auto best = record::best_of(result_.all(), run_.criterion);
  if (!best) return;
  const double reach_ms = run_.criterion.interval(*best->record).second;
  const bool tainted = !best->record->tainted.empty();
  for (const Row& row : rows_.rows()) {
    if (row.config->tainted != tainted || interval_begin(row) > reach_ms) continue;
    result_.records.push_back(shown_of(row));
    drop(result_.unread, Outcome::ok);
  }
}

}  // namespace xtune::run
