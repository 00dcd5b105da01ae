// Adds records and rows to the result, updates its counts, and chooses the rows whose records are read.
#include "core/run/results.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/record/best.hpp"
#include "core/run/history.hpp"

namespace xtune::run {
namespace {

void drop(std::map<Outcome, std::uint64_t>& counts, Outcome outcome) {
  if (--counts[outcome] == 0) counts.erase(outcome);
}

}  // namespace

Results::Results(const RunContext& run) : run_(run) {
  result_.problem = run.problem;
  result_.device = run.target.device;
  result_.space_size = run.space.size();
  if (const auto index = run.suggested.default_index) result_.default_config = run.space.named(run.space.at(*index));
}

const record::Record& Results::put(const Trial& trial, record::Record record) {
  const bool settled = trial.purpose == Trial::Purpose::settle;
  const std::size_t place = settled && trial.replaces ? *trial.replaces : result_.records.size();
  if (settled) drop(result_.counts, trial.replaces ? result_.records[place].outcome : Outcome::pruned);
  if (settled && !trial.replaces) drop(result_.unread, Outcome::pruned);
  if (!settled) ++evaluated_;
  const Outcome outcome = record.outcome;
  ++result_.counts[outcome];
  if (place < result_.records.size())
    result_.records[place] = std::move(record);
  else
    result_.records.push_back(std::move(record));
  if (settled && best_score_ && !best_row_ && best_ == place) choose_best();  // it may be the best no longer
  if (outcome == Outcome::ok && run_.measures()) consider(place);
  if (outcome == Outcome::pruned) open_.push_back({trial.proposal.index, place, {}});
  return result_.records[place];
}

void Results::put(std::uint64_t index, const Row& row) {
  const store::StoredConfig& config = *row.config;
  ++evaluated_;
  ++result_.counts[config.outcome];
  ++result_.unread[config.outcome];
  if (config.outcome == Outcome::pruned) return open_.push_back({index, std::nullopt, row});
  if (config.outcome != Outcome::ok) return read_example(row);
  if (!std::isfinite(config.time_ms)) return;
  rows_.push_back(row);
  consider(row);
}

void Results::count_stored(bool from_peers) {
  ++result_.from_store;
  result_.from_peers += from_peers;
}

void Results::refute(const record::Record& wrong) {
  for (record::Record& record : result_.records) {
    if (record.key != wrong.key || record.outcome != Outcome::ok) continue;
    drop(result_.counts, Outcome::ok);
    ++result_.counts[Outcome::wrong_result];
    record = wrong;
  }
  const store::KeyDigest key(wrong.key);
  const auto found = std::find_if(rows_.begin(), rows_.end(), [&](const Row& row) { return row.config->key == key; });
  if (found != rows_.end()) {
    rows_.erase(found);
    drop(result_.unread, Outcome::ok);
    drop(result_.counts, Outcome::ok);
    ++result_.counts[wrong.outcome];
    result_.records.push_back(wrong);
  }
  compare_losers_again();
  choose_best();
}

void Results::compare_losers_again() {
  open_.insert(open_.end(), lost_.begin(), lost_.end());
  lost_.clear();
  std::erase_if(
      open_, [&](const Pruned& one) { return one.record && result_.records[*one.record].outcome != Outcome::pruned; });
}

void Results::choose_best() {
  best_score_.reset();
  best_row_.reset();
  for (const Row& row : rows_) consider(row);
  for (std::size_t i = 0; i < result_.records.size(); ++i)
    if (result_.records[i].outcome == Outcome::ok) consider(i);
}

void Results::bound(std::size_t place, double slowness) {
  record::Record& record = result_.records[place];
  record.time_ms = measure::scaled(record.time_ms, std::exchange(record.slowness, slowness) / slowness);
}

std::optional<Results::Pruned> Results::take_doubtful(const std::function<bool(const Pruned&)>& lost) {
  const auto doubtful = std::partition(open_.begin(), open_.end(), lost);
  lost_.insert(lost_.end(), open_.begin(), doubtful);
  open_.erase(open_.begin(), doubtful);
  if (open_.empty()) return std::nullopt;
  const auto min_ms = [&](const Pruned& one) {
    return one.record ? result_.records[*one.record].time_ms.min : one.row.config->low_ms;
  };
  const auto next = std::min_element(open_.begin(), open_.end(), [&](const Pruned& a, const Pruned& b) {
    return std::pair(min_ms(a), a.index) < std::pair(min_ms(b), b.index);
  });
  const Pruned taken = *next;
  open_.erase(next);
  return taken;
}

void Results::consider(std::size_t place) {
  const double score = run_.criterion.of(result_.records[place]);
  if (!std::isfinite(score) || (best_score_ && score >= *best_score_)) return;
  best_score_ = score;
  best_ = place;
  best_row_.reset();
}

void Results::consider(const Row& row) {
  const double score = row.config->time_ms;
  if (best_score_ && score >= *best_score_) return;
  best_score_ = score;
  best_row_ = {row, shown_of(row), std::nullopt};
}

const record::Record& Results::best() {
  if (!best_row_) return result_.records[best_];
  if (!best_row_->whole) {
    auto whole = read_row(best_row_->row, run_.observer);
    best_row_->whole = whole ? std::move(*whole) : best_row_->shown;  // read, and warned about, only once
  }
  return *best_row_->whole;
}

double Results::finals_reach() {
  return has_best() ? run_.criterion.interval(best(), record::finals_drift_of_days).second : HUGE_VAL;
}

const record::Record* Results::shown_best() const {
  if (!best_score_) return nullptr;
  return best_row_ ? &best_row_->shown : &result_.records[best_];
}

void Results::add_read(record::Record record, Outcome outcome) {
  drop(result_.unread, outcome);
  result_.records.push_back(std::move(record));
}

/// Reads the record of a failure if it explains more than the examples so far.
void Results::read_example(const Row& failure) {
  const store::StoredConfig& config = *failure.config;
  Example& known = examples_[config.outcome];
  if ((!config.explained || known.explained) && (!config.sanitizer_report || known.sanitizer_report)) return;
  auto whole = read_row(failure, run_.observer);
  if (!whole) return;
  known.explained = true;
  known.sanitizer_report = known.sanitizer_report || config.sanitizer_report;
  add_read(std::move(*whole), config.outcome);
}

/// Reads the best of the rows whose intervals begin within reach, up to `count`.
void Results::read_within(std::size_t count, double reach_ms) {
  const auto chosen =
      std::partition(rows_.begin(), rows_.end(), [&](const Row& row) { return interval_begin(row) > reach_ms; });
  const auto end = chosen + std::min<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(count), rows_.end() - chosen);
  std::partial_sort(chosen, end, rows_.end(), ranks_before);
  for (auto row = chosen; row != end; ++row)
    if (auto whole = read_row(*row, run_.observer)) add_read(std::move(*whole), Outcome::ok);
  rows_.erase(chosen, end);
}

/// Reads the rows that rank among the first `count`, counting those of earlier calls.
void Results::read_first(std::size_t count) {
  if (count <= first_read_) return;
  read_within(count - std::exchange(first_read_, count), HUGE_VAL);
}

void Results::read_best(std::size_t count) {
  if (rows_.empty()) return;
  read_first(count);
  const auto order = record::ranked(result_.records, run_.criterion);
  if (!order.empty()) read_within(count, run_.criterion.interval(*order.front(), record::finals_drift_of_days).second);
}

void Results::read_reported() {
  if (rows_.empty()) return;
  const TuneOptions& options = run_.options;
  read_first(std::max({options.best_only.value_or(0), options.top, std::size_t{1}}));
  const auto best = record::best_of(result_.all(), run_.criterion);
  if (!best) return;
  const double reach_ms = run_.criterion.interval(*best->record).second;
  const bool tainted = !best->record->tainted.empty();
  for (const Row& row : rows_)
    if (row.config->tainted == tainted && interval_begin(row) <= reach_ms) add_read(shown_of(row), Outcome::ok);
}

}  // namespace xtune::run
