// What the store answers of a run. Of a million stored results nearly all stay rows; only what races, is reported or
// goes to the finals is read whole.
#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "base/causes.hpp"
#include "core/record/future_records.hpp"
#include "core/run/time_limits.hpp"
#include "core/run/tuning.hpp"
#include "core/search/strategy.hpp"
#include "xtune/error.hpp"

namespace xtune {
namespace {

using Row = GrowingRecords::Row;

// The ends of intervals that finals look at lie within this.
constexpr double stretch = 1.1;

/// As ranked() orders records.
bool ranks_before(const Row& a, const Row& b) {
  const StoredConfig &left = *a.config, &right = *b.config;
  if (left.tainted != right.tainted) return right.tainted;
  if (left.time_ms != right.time_ms) return left.time_ms < right.time_ms;
  return std::tuple(config_text(left), left.key) < std::tuple(config_text(right), right.key);
}

double interval_begin(const Row& row) { return std::min(row.config->low_ms, row.config->time_ms); }

/// What can be said of a row without reading its record.
Record shown_of(const Row& row) {
  const StoredConfig& config = *row.config;
  Record record;
  record.key = config.key.hex();
  record.problem = row.view->problem_of(config);
  record.config = config_bindings(config);
  record.outcome = config.outcome;
  Summary& time = record.time_ms;
  time.count = 1;
  time.min = time.q1 = time.mean = time.q3 = time.max = time.high = config.time_ms;
  time.median = config.median_ms, time.low = config.low_ms;
  if (config.tainted) record.tainted = {""};
  record.unix_time_ms = config.unix_time_ms;
  return record;
}

void drop(std::map<Outcome, std::uint64_t>& counts, Outcome outcome) {
  if (--counts[outcome] == 0) counts.erase(outcome);
}

}  // namespace

bool Tuning::learns_from_store() const {
  return options_.transfer && options_.only.empty() &&
         !make_strategy(spec_.search.strategy, space_, spec_.search.seed, evals_)->sequence();
}

/// Those of this problem on this kind of device.
std::vector<Row> Tuning::read_store(const Bindings& problem) {
  store_records_.refresh();
  std::vector<Row> rows = store_records_.rows_of(problem, target_.device);
  Causes causes;
  for (const std::string& warning : store_records_.warnings()) causes.add(warning);
  for (const Cause& cause : causes.all()) observer_.on_warning(cause.text());
  for (const Row& row : rows) stamps_.learn(row.config->key, row.config->unix_time_ms);
  FutureRecords future(clock_.unix_time_ms());
  Row newest;
  const auto look_at = [&](const Row& row) {
    if (future.look_at(row.config->unix_time_ms, row.view->device_of(*row.config).backend)) newest = row;
  };
  if (learns_from_store())
    store_records_.each_row(look_at);
  else
    std::for_each(rows.begin(), rows.end(), look_at);
  if (newest.config)
    if (const auto record = read(newest)) future.newest_of(record->host);
  if (const std::string text = future.text(); !text.empty())
    observer_.on_warning(text + ": a clock was wrong then, or is now; what this run measures counts as newer");
  // All peers must learn from the same records, whenever each of them begins; what came since is news.
  if (options_.peers)
    std::erase_if(rows, [&](const Row& row) { return row.config->unix_time_ms >= options_.peers->began_unix_ms(); });
  return rows;
}

/// nullopt: its file was repaired or removed since it was scanned.
std::optional<Record> Tuning::read(const Row& row) {
  try {
    return row.view->record_of(*row.config);
  } catch (const Error& error) {
    observer_.on_warning(error.what());
    return std::nullopt;
  }
}

bool Tuning::serve_from_store(const SearchPath::Proposal& proposal, const KeyDigest& key) {
  const StoredResults::Answer found = stored_.find(key);
  if (!found) return false;
  const bool of_today = options_.peers && found.unix_time_ms >= options_.peers->began_unix_ms();
  const Outcome outcome = found.outcome;
  if (options_.fresh && !of_today) return false;
  if (options_.retry_failed && !of_today && (outcome == Outcome::crashed || outcome == Outcome::timed_out))
    return false;
  if (outcome == Outcome::pruned && !races()) return false;
  std::optional<Record> whole;
  if (found.record)
    whole = *found.record;
  else if (reads_all() || observer_.wants_stored() || outcome == Outcome::timed_out)
    whole = read(found.row);
  if (outcome == Outcome::timed_out && !of_today && !(whole && answers_under_limits(*whole, spec_))) return false;
  const bool stays_row = !found.record && !reads_all();
  stored_.take(key);
  if (!whole && !stays_row) return false;
  ++result_.from_store;
  result_.from_peers += of_today;
  if (stays_row) {
    serve_row(proposal, found.row);
    if (whole) observer_.on_record(*whole, "", true);
    report();
  } else {
    serve_record(proposal, std::move(*whole));
  }
  return true;
}

void Tuning::serve_record(const SearchPath::Proposal& proposal, Record record) {
  const auto trial = std::make_shared<Trial>();
  trial->proposal = proposal;
  const bool challenges = races() && record.outcome == Outcome::ok;
  if (challenges) trial->record = record;
  take(*trial, std::move(record), "", true);
  if (challenges) consider_incumbent(trial, true);
}

/// As take, of what is not read.
void Tuning::serve_row(const SearchPath::Proposal& proposal, const Row& row) {
  const StoredConfig& config = *row.config;
  ++evaluated_;
  ++result_.counts[config.outcome];
  ++result_.unread[config.outcome];
  const bool pruned = config.outcome == Outcome::pruned;
  if (!blocks_)
    path_.set_outcome(proposal.number, {proposal.index, config.outcome, pruned ? config.low_ms : config.time_ms});
  if (pruned) return pruned_.push_back({proposal.index, std::nullopt, row});
  if (config.outcome != Outcome::ok) return keep_example(row);
  if (!calibration_.index) calibration_.index = proposal.index;
  if (!std::isfinite(config.time_ms)) return;
  served_.push_back(row);
  consider_best(row);
  challenge(row, proposal.index);
}

/// Reads a stored result that may be the incumbent.
void Tuning::challenge(const Row& row, std::uint64_t index) {
  if (!races() || !may_lead(row)) return;
  auto whole = read(row);
  if (!whole) return;
  const auto trial = std::make_shared<Trial>();
  trial->proposal.index = index;
  trial->record = std::move(*whole);
  consider_incumbent(trial, true);
}

/// A result that its record's wrong one refutes becomes that record.
void Tuning::refute_row(const Record& wrong) {
  const KeyDigest key(wrong.key);
  const auto found =
      std::find_if(served_.begin(), served_.end(), [&](const Row& row) { return row.config->key == key; });
  if (found == served_.end()) return;
  served_.erase(found);
  drop(result_.unread, Outcome::ok);
  drop(result_.counts, Outcome::ok);
  ++result_.counts[wrong.outcome];
  result_.records.push_back(wrong);
}

void Tuning::consider_best(const Row& row) {
  const double score = row.config->time_ms;
  if (best_score_ && score >= *best_score_) return;
  best_score_ = score;
  best_row_ = {row, shown_of(row), std::nullopt};
}

/// The best so far by the criterion; there is one.
const Record& Tuning::best() {
  if (!best_row_) return result_.records[best_];
  if (!best_row_->whole) {
    auto whole = read(best_row_->row);
    best_row_->whole = whole ? std::move(*whole) : best_row_->shown;  // asked for, and warned of, once
  }
  return *best_row_->whole;
}

/// Reads what failure_groups may show.
void Tuning::keep_example(const Row& row) {
  Example& known = examples_[row.config->outcome];
  if ((!row.config->explained || known.explained) && (!row.config->sanitizer_report || known.sanitizer_report)) return;
  auto whole = read(row);
  if (!whole) return;
  known.explained = true;
  known.sanitizer_report = known.sanitizer_report || row.config->sanitizer_report;
  result_.records.push_back(std::move(*whole));
  drop(result_.unread, row.config->outcome);
}

/// Moves the best of the rows, whose intervals begin within reach, to the records: `most` at most.
void Tuning::read_served(std::size_t most, double reach_ms) {
  const auto chosen =
      std::partition(served_.begin(), served_.end(), [&](const Row& row) { return interval_begin(row) > reach_ms; });
  const auto count = std::min<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(most), served_.end() - chosen);
  std::partial_sort(chosen, chosen + count, served_.end(), ranks_before);
  for (auto row = chosen; row != chosen + count; ++row) {
    auto whole = read(*row);
    if (!whole) continue;
    result_.records.push_back(std::move(*whole));
    drop(result_.unread, Outcome::ok);
  }
  served_.erase(chosen, chosen + count);
}

/// The same of those that rank among so many first.
void Tuning::read_first(std::size_t most) {
  if (most <= first_read_) return;
  read_served(most - first_read_, std::numeric_limits<double>::infinity());
  first_read_ = most;
}

/// The same of those that may be among so many finalists.
void Tuning::read_best(std::size_t most) {
  if (served_.empty()) return;
  read_first(most);
  const auto order = ranked(result_.records, criterion_);
  if (!order.empty()) read_served(most, criterion_.interval(*order.front(), stretch).second);
}

/// What a report shows of stored results: the best, and what ties with the first of them.
void Tuning::read_reported() {
  if (served_.empty()) return;
  read_first(std::max({options_.best_only.value_or(0), options_.top, std::size_t{1}}));
  const auto best = best_of(result_.all(), criterion_);
  if (!best) return;
  const double reach_ms = criterion_.interval(*best->record).second;
  const bool tainted = !best->record->tainted.empty();
  for (const Row& row : served_) {
    if (row.config->tainted != tainted || interval_begin(row) > reach_ms) continue;
    result_.records.push_back(shown_of(row));
    drop(result_.unread, Outcome::ok);
  }
}

/// Results of the store that this run did not evaluate, that its space allows and its spec measures the same way: as
/// many of the best as may take part in finals.
std::vector<const Record*> Tuning::rivals() {
  const auto asked_today = [&](const Bindings& config, const KeyDigest& key) {
    const auto index = index_of(space_, config);
    return index && key_at(*index) == key;
  };
  std::vector<const Record*> others = stored_.ok_records(target_.device);
  const auto most = static_cast<std::size_t>(std::max(spec_.measure.finals, 1));
  const double reach = best_score_ ? criterion_.interval(best(), stretch).second : HUGE_VAL;
  std::vector<Row> rows = stored_.ok_rows(target_.device);
  rivals_.clear();
  const auto read_rival = [&](const Row& row) {
    auto whole = read(row);
    if (whole) others.push_back(&rivals_.emplace_back(std::move(*whole)));
  };
  if (criterion_.score) {
    std::for_each(rows.begin(), rows.end(), read_rival);
  } else {
    // To work out a key takes time: only what may be among the best is asked for it.
    const auto after = [](const Row& a, const Row& b) { return ranks_before(b, a); };
    std::make_heap(rows.begin(), rows.end(), after);
    for (std::size_t taken = 0; taken < most && !rows.empty(); rows.pop_back()) {
      std::pop_heap(rows.begin(), rows.end(), after);
      const Row& row = rows.back();
      if (interval_begin(row) > reach) break;
      if (!std::isfinite(row.config->time_ms) || !asked_today(config_bindings(*row.config), row.config->key)) continue;
      read_rival(row);
      ++taken;
    }
  }
  std::vector<const Record*> chosen;
  for (const Record* record : ranked(others, criterion_)) {
    if (chosen.size() == most || criterion_.interval(*record).first > reach) break;
    if (asked_today(record->config, KeyDigest(record->key))) chosen.push_back(record);
  }
  return chosen;
}

}  // namespace xtune
