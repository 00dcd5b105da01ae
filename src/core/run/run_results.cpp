// Adds results to the counts, the search, the race and the calibration, and chooses the rows whose records are read.
#include "core/run/run_results.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "core/measure/finals.hpp"
#include "core/measure/statistics.hpp"
#include "core/run/run_parts.hpp"
#include "core/store/best.hpp"

namespace xtune::run {
namespace {

/// Whether two wrong results differ from the reference alike: as often, and first at the same element by the same
/// value.
bool are_alike(const validate::Comparison& a, const validate::Comparison& b) {
  const double allowed = a.tolerance.atol + a.tolerance.rtol * std::abs(a.actual);
  const auto more = std::max(a.mismatched, b.mismatched), less = std::min(a.mismatched, b.mismatched);
  return a.output == b.output && a.first_index == b.first_index && more - less <= more / 10 &&
         std::abs(a.actual - b.actual) <= allowed && std::abs(a.actual_imaginary - b.actual_imaginary) <= allowed;
}

std::uint64_t count_of(const TuneResult& result, Outcome outcome) {
  const auto found = result.counts.find(outcome);
  return found == result.counts.end() ? 0 : found->second;
}

void drop(std::map<Outcome, std::uint64_t>& counts, Outcome outcome) {
  if (--counts[outcome] == 0) counts.erase(outcome);
}

}  // namespace

std::vector<std::string> doubts(const spec::Spec& spec, const TuneResult& result) {
  std::vector<std::string> texts;
  constexpr std::size_t max_compared = 1000;  // with each other
  const store::Record* careless = nullptr;
  std::uint64_t careless_count = 0;
  std::vector<const validate::Comparison*> wrong;
  for (const store::Record& record : result.records) {
    if (!record.validation) continue;
    const validate::Comparison& compared = *record.validation;
    if (!compared.has_reference()) {
      if (careless_count++ == 0) careless = &record;
    } else if (record.outcome == Outcome::wrong_result && compared.mismatched > 0 && wrong.size() < max_compared &&
               compared.nans + compared.infinities + compared.unwritten == 0) {
      wrong.push_back(&compared);
    }
  }
  if (careless)
    texts.push_back(
        fmt::format("{} configuration{} elements of outputs unwritten, e.g. {}: {}. Without a reference, nothing shows "
                    "whether that is right",
                    careless_count, careless_count == 1 ? " leaves" : "s leave", space::shown_text(careless->config),
                    careless->validation->text()));
  std::size_t most = 0;
  const validate::Comparison* first = nullptr;
  for (const validate::Comparison* const one : wrong) {
    if (first && are_alike(*one, *first)) continue;
    const auto alike = std::count_if(wrong.begin(), wrong.end(),
                                     [&](const validate::Comparison* other) { return are_alike(*one, *other); });
    if (static_cast<std::size_t>(alike) <= most) continue;
    most = static_cast<std::size_t>(alike);
    first = one;
  }
  const std::uint64_t passing = count_of(result, Outcome::ok) + count_of(result, Outcome::pruned);
  if (most < 2 || most <= passing) return texts;
  const spec::Location& at = spec.validate.reference.at;
  texts.push_back(fmt::format(
      "{}{} of {} wrong results differ from the reference in the same way ({}: {} of {} elements; first at [{}], where "
      "they have {:.6g} and the reference has {:.6g}), and {} agree{} with it: is the reference right?",
      at.line > 0 ? spec::to_string(at) + ": " : "", most, count_of(result, Outcome::wrong_result), first->output,
      first->mismatched, first->count, fmt::join(first->first_coordinates, ", "), first->actual, first->expected,
      passing == 0   ? "none"
      : passing == 1 ? "only one configuration"
                     : fmt::format("only {}", passing),
      passing <= 1 ? "s" : ""));
  return texts;
}

RunResults::RunResults(const RunContext& run) : run_(run) {
  result_.problem = run.problem;
  result_.device = run.target.device;
  result_.space_size = run.space.size();
  if (const auto index = run.suggested.default_index) result_.default_config = run.space.named(run.space.at(*index));
}

const store::Record& RunResults::put(const Trial& trial, store::Record record) {
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

void RunResults::put(std::uint64_t index, Row row) {
  const store::StoredConfig& config = *row;
  ++evaluated_;
  ++result_.counts[config.outcome];
  ++result_.unread[config.outcome];
  if (config.outcome == Outcome::pruned) return open_.push_back({index, std::nullopt, row});
  if (config.outcome != Outcome::ok) return read_example(row);
  if (!std::isfinite(config.time_ms)) return;
  rows_.push_back(row);
  consider(row);
}

void RunResults::count_stored(bool from_peers) {
  ++result_.from_store;
  result_.from_peers += from_peers;
}

void RunResults::refute(const store::Record& wrong) {
  for (store::Record& record : result_.records) {
    if (record.key != wrong.key || record.outcome != Outcome::ok) continue;
    drop(result_.counts, Outcome::ok);
    ++result_.counts[Outcome::wrong_result];
    record = wrong;
  }
  const store::KeyDigest key(wrong.key);
  const auto found = std::find_if(rows_.begin(), rows_.end(), [&](Row row) { return row->key == key; });
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

void RunResults::compare_losers_again() {
  open_.insert(open_.end(), lost_.begin(), lost_.end());
  lost_.clear();
  std::erase_if(
      open_, [&](const Pruned& one) { return one.record && result_.records[*one.record].outcome != Outcome::pruned; });
}

void RunResults::choose_best() {
  best_score_.reset();
  best_row_.reset();
  for (Row row : rows_) consider(row);
  for (std::size_t i = 0; i < result_.records.size(); ++i)
    if (result_.records[i].outcome == Outcome::ok) consider(i);
}

void RunResults::bound(std::size_t place, double slowness) {
  store::Record& record = result_.records[place];
  record.time_ms = measure::scaled(record.time_ms, std::exchange(record.slowness, slowness) / slowness);
}

std::optional<RunResults::Pruned> RunResults::take_doubtful(const std::function<bool(const Pruned&)>& lost) {
  const auto doubtful = std::partition(open_.begin(), open_.end(), lost);
  lost_.insert(lost_.end(), open_.begin(), doubtful);
  open_.erase(open_.begin(), doubtful);
  if (open_.empty()) return std::nullopt;
  const auto min_ms = [&](const Pruned& one) {
    return one.record ? result_.records[*one.record].time_ms.min : one.row->low_ms;
  };
  const auto next = std::min_element(open_.begin(), open_.end(), [&](const Pruned& a, const Pruned& b) {
    return std::pair(min_ms(a), a.index) < std::pair(min_ms(b), b.index);
  });
  const Pruned taken = *next;
  open_.erase(next);
  return taken;
}

void RunResults::consider(std::size_t place) {
  const double score = run_.criterion.of(result_.records[place]);
  if (!std::isfinite(score) || (best_score_ && score >= *best_score_)) return;
  best_score_ = score;
  best_ = place;
  best_row_.reset();
}

void RunResults::consider(Row row) {
  const double score = row->time_ms;
  if (best_score_ && score >= *best_score_) return;
  best_score_ = score;
  best_row_ = {row, shown_of(row), std::nullopt};
}

const store::Record& RunResults::best() {
  if (!best_row_) return result_.records[best_];
  if (!best_row_->whole) {
    auto whole = read_row(best_row_->row, run_.observer);
    best_row_->whole = whole ? std::move(*whole) : best_row_->shown;  // read, and warned about, only once
  }
  return *best_row_->whole;
}

const store::Record* RunResults::shown_best() const {
  if (!best_score_) return nullptr;
  return best_row_ ? &best_row_->shown : &result_.records[best_];
}

void RunResults::add_read(store::Record record, Outcome outcome) {
  drop(result_.unread, outcome);
  result_.records.push_back(std::move(record));
}

/// Reads the record of a failure if it explains more than the examples so far.
void RunResults::read_example(Row failure) {
  const store::StoredConfig& config = *failure;
  Example& known = examples_[config.outcome];
  // Several wrong results show whether they are wrong in the same way.
  const int wanted = config.outcome == Outcome::wrong_result ? 3 : 1;
  if ((!config.explained || known.explained >= wanted) && (!config.sanitizer_report || known.sanitizer_report)) return;
  auto whole = read_row(failure, run_.observer);
  if (!whole) return;
  ++known.explained;
  known.sanitizer_report = known.sanitizer_report || config.sanitizer_report;
  add_read(std::move(*whole), config.outcome);
}

void RunResults::read_within(std::size_t count, double reach_ms) {
  read_where(count, [&](Row row) { return interval_begin(row) <= reach_ms; });
}

void RunResults::read_where(std::size_t count, const std::function<bool(Row)>& wanted) {
  const auto chosen = std::partition(rows_.begin(), rows_.end(), [&](Row row) { return !wanted(row); });
  const auto end = chosen + std::min<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(count), rows_.end() - chosen);
  std::partial_sort(chosen, end, rows_.end(), ranks_before);
  for (auto row = chosen; row != end; ++row)
    if (auto whole = read_row(*row, run_.observer)) add_read(std::move(*whole), Outcome::ok);
  rows_.erase(chosen, end);
}

/// Reads the rows that rank among the first `count`, counting those of earlier calls.
void RunResults::read_first(std::size_t count) {
  if (count <= first_read_) return;
  read_within(count - std::exchange(first_read_, count), HUGE_VAL);
}

void RunResults::read_best(std::size_t count) {
  if (rows_.empty()) return;
  read_first(count);
  const auto order = store::ranked(result_.records, run_.criterion);
  if (order.empty()) return;
  const store::RankFacts first = store::RecordAccess::facts(order.front());
  const double end_ms = run_.criterion.interval(*order.front()).second;
  read_where(count, [&](Row row) {
    return interval_begin(row) <= end_ms * store::finals_drift_between(store::ConfigAccess::facts(row), first);
  });
}

void RunResults::read_reported() {
  if (rows_.empty()) return;
  const TuneOptions& options = run_.options;
  read_first(std::max({options.best_only.value_or(0), options.top, std::size_t{1}}));
  const auto best = store::best_of(result_.all(), run_.criterion);
  if (!best) return;
  const double reach_ms = run_.criterion.interval(*best->record).second;
  const bool tainted = !best->record->tainted.empty();
  for (Row row : rows_)
    if (row->tainted == tainted && interval_begin(row) <= reach_ms) add_read(shown_of(row), Outcome::ok);
}

namespace {

constexpr std::size_t races_between = 40, races_before_end = 20, races_in_doubt = 8;

}  // namespace

IncumbentTracker::IncumbentTracker(measure::Statistic statistic, std::size_t top) : statistic_(statistic), top_(top) {}

void IncumbentTracker::consider(std::uint64_t index, const store::Record& record, double slowness, bool stored) {
  const double measured_ms = measure::statistic(record.time_ms, statistic_), time_ms = measured_ms / slowness;
  const bool clean = record.tainted.empty();
  const measure::Incumbent incumbent =
      measure::scaled(measure::incumbent_of(record.time_ms, measured_ms), 1 / slowness);
  if (top_ > 1 && clean) {
    const auto place =
        std::find_if(leaders_.begin(), leaders_.end(), [&](const auto& it) { return it.first > time_ms; });
    leaders_.insert(place, {time_ms, incumbent});
    if (leaders_.size() > top_) leaders_.pop_back();
  }
  if (best_) {
    const bool best_clean = best_->record.tainted.empty();
    if (clean != best_clean ? best_clean : time_ms >= best_->time_ms) return;
    if (!former_ && best_clean && best_->races > 0) former_ = best_;
    if (former_ && time_ms * (1 + measure::finals_least_drift) < former_->time_ms) former_->in_doubt = true;
  }
  best_.emplace(Best{index, record, incumbent, time_ms, stored});
}

bool IncumbentTracker::may_lead(double time_ms, bool clean) const {
  if (top_ > 1 && clean && (leaders_.size() < top_ || leaders_.back().first > time_ms)) return true;
  if (!best_) return true;
  const bool best_clean = best_->record.tainted.empty();
  return clean != best_clean ? clean : time_ms < best_->time_ms;
}

std::optional<measure::Incumbent> IncumbentTracker::bar() const {
  if (top_ > 1) return leaders_.size() < top_ ? std::nullopt : std::optional(leaders_.back().second);
  return best_ ? std::optional(best_->incumbent) : std::nullopt;
}

void IncumbentTracker::clear() {
  leaders_.clear();
  former_.reset();
  best_.reset();
}

void IncumbentTracker::count_race() {
  for (std::optional<Best>* const one : {&former_, &best_})
    if (*one) ++(*one)->races;
}

std::optional<std::uint64_t> IncumbentTracker::take_due(bool last) {
  for (std::optional<Best>* const one : {&former_, &best_}) {
    if (!*one) continue;
    Best& due = **one;
    if (due.asked) return std::nullopt;
    if (due.races >= (due.in_doubt ? races_in_doubt : last ? races_before_end : races_between))
      return due.asked = true, due.index;
  }
  return std::nullopt;
}

const store::Record* IncumbentTracker::remeasured(const std::string& key) {
  const bool is_former = former_ && former_->asked && former_->record.key == key;
  if (!is_former && (!best_ || best_->record.key != key)) return nullptr;
  checked_ = is_former ? former_->record : best_->record;
  former_.reset();
  if (best_) best_->asked = best_->in_doubt = false, best_->races = 0;
  return &checked_;
}

void IncumbentTracker::update(const std::string& key, const measure::Summary& time_ms) {
  if (!best_ || best_->record.key != key) return;
  best_->time_ms = measure::statistic(time_ms, statistic_);
  best_->incumbent = measure::incumbent_of(time_ms, best_->time_ms);
}

OutcomeHandler::OutcomeHandler(RunParts& run)
    : run_(run), results_(run), incumbent_(run.spec.measure.statistic, run.options.top) {}

void OutcomeHandler::finish(Trial& trial, const std::string& log) {
  run_.keeper.stamp(trial.record, run_.path.learns());
  if (trial.record.outcome == Outcome::ok) race(trial.proposal.index, trial.record, false);
  run_.stored.note_taints(trial.record.tainted);
  run_.keeper.keep(trial.record, trial.lack);
  handle(trial, trial.record, log, false);
}

void OutcomeHandler::handle(const Trial& trial, store::Record record, const std::string& log, bool from_store) {
  const Outcome outcome = record.outcome;
  // Strategies minimise times, or scores derived from the objective.
  double observed = 0;
  const bool measured = outcome == Outcome::ok && run_.measures();
  if (measured) observed = run_.criterion.score ? run_.objective.search_score(record) : run_.criterion.of(record);
  if (outcome == Outcome::pruned) observed = record.time_ms.min;
  if (measured) run_.calibration.offer(trial.proposal.index, from_store ? nullptr : &trial.artifact);
  if (measured && trial.purpose == Trial::Purpose::settle && results_.has_best())
    slower_ = std::clamp(run_.criterion.of(record) / run_.criterion.of(results_.best()), 1.0, slower_);
  if (trial.purpose == Trial::Purpose::search)
    run_.path.set_outcome(trial.proposal.number, {trial.proposal.index, outcome, observed, record.compile_cpu_s},
                          record.unix_time_ms);
  run_.observer.on_record(results_.put(trial, std::move(record)), log, from_store);
  run_.report();
}

void OutcomeHandler::handle(const SearchPath::Proposal& proposal, Row row) {
  const store::StoredConfig& config = *row;
  const double observed = config.outcome == Outcome::pruned ? config.low_ms : config.time_ms;
  run_.path.set_outcome(proposal.number, {proposal.index, config.outcome, observed, config.compile_cpu_s},
                        config.unix_time_ms);
  results_.put(proposal.index, row);
  if (config.outcome != Outcome::ok) return;
  run_.calibration.offer(proposal.index, nullptr);
  if (std::isfinite(config.time_ms)) race(proposal.index, row);
}

void OutcomeHandler::race(std::uint64_t index, const store::Record& record, bool stored) {
  if (run_.races()) incumbent_.consider(index, record, run_.devices.slowness_of(record.device), stored);
}

/// Reads a stored result that may be the incumbent.
void OutcomeHandler::race(std::uint64_t index, Row row) {
  if (!run_.races()) return;
  const double time_ms = row->time_ms / run_.devices.slowness_of(row->device());
  if (!incumbent_.may_lead(time_ms, !row->tainted)) return;
  if (const auto whole = read_row(row, run_.observer)) race(index, *whole, true);
}

bool OutcomeHandler::serve(const SearchPath::Proposal& proposal) {
  if (run_.stored.empty()) return false;
  std::optional<StoredResults::Answer> answer;
  const space::Config config = run_.space.at(proposal.index);
  const auto take = [&](const store::KeyDigest& key) { return (answer = run_.stored.take(key, config)).has_value(); };
  if (!run_.any_key(config, take)) return false;
  results_.count_stored(answer->from_peers);
  // The run's answer compares the default configuration with the best one.
  if (answer->row && proposal.index == run_.suggested.default_index)
    if (auto whole = read_row(answer->row, run_.observer)) answer->whole = std::move(whole), answer->row = {};
  if (answer->row) {
    handle(proposal, answer->row);
    if (answer->whole) run_.observer.on_record(*answer->whole, "", true);
    run_.report();
    return true;
  }
  Trial trial;
  trial.proposal = proposal;
  handle(trial, *answer->whole, "", true);
  if (answer->whole->outcome == Outcome::ok) race(proposal.index, *answer->whole, true);
  return true;
}

bool OutcomeHandler::has_come(const Trial& trial) {
  if (trial.purpose != Trial::Purpose::settle) return serve(trial.proposal);
  std::optional<store::Record> found = run_.stored.take_full(store::KeyDigest(trial.record.key));
  if (!found) return false;
  results_.count_stored(true);
  handle(trial, std::move(*found), "", true);
  return true;
}

void OutcomeHandler::race_best_of(const std::vector<store::Record>& news) {
  if (!run_.races()) return;
  const store::Record* best = nullptr;
  for (const store::Record& record : news)
    if (record.outcome == Outcome::ok && store::is_first(record) && record.tainted.empty() &&
        store::same_device(record.device, run_.target.device) &&
        (!best || run_.criterion.of(record) < run_.criterion.of(*best)))
      best = &record;
  const auto index = best ? run_.space.index_of(best->config) : std::nullopt;
  if (index && run_.make_trial(*index)->record.key == best->key) race(*index, *best, true);
}

void OutcomeHandler::follow_speed(const std::string& key, double before) {
  const double now = run_.keeper.slowness();
  const std::size_t since = std::exchange(checked_, results_.records().size());
  if (now == before) return;
  for (std::size_t i = since; i < checked_; ++i) {
    const store::Record& record = results_.records()[i];
    if (record.attempt != run_.options.attempt || record.key == key) continue;
    if (record.outcome == Outcome::pruned) results_.bound(i, std::max(now, before));
    if (record.outcome == Outcome::ok) unsure_.insert(i);
  }
  results_.compare_losers_again();
  race_all(false);
}

TrialPtr OutcomeHandler::take_doubtful() {
  const auto settling = [&](std::uint64_t index, std::optional<std::size_t> replaces) {
    TrialPtr trial = run_.make_trial(index, Trial::Purpose::settle);
    trial->replaces = replaces;
    return trial;
  };
  // First, as one of them may seem to be the best, to which losers are compared.
  while (!unsure_.empty()) {
    const std::size_t place = unsure_.extract(unsure_.begin()).value();
    const store::Record& record = results_.records()[place];
    if (record.outcome == Outcome::ok) return settling(run_.space.index_of(record.config).value(), place);
  }
  const auto next = results_.take_doubtful([&](const auto& one) { return still_loses(one); });
  return next ? settling(next->index, next->record) : nullptr;
}

/// Compared with the best of this run, or with the last of the best if several are requested.
bool OutcomeHandler::still_loses(const RunResults::Pruned& one) {
  const Row row = one.row;
  const store::Record* const record = one.record ? &results_.records()[*one.record] : nullptr;
  double slowness = run_.devices.slowness_of(record ? record->device : row->device());
  std::optional<measure::Incumbent> there = incumbent_.bar();
  if (run_.options.top <= 1) {
    if (!results_.has_best()) return false;
    const store::Record& best = results_.best();
    there = measure::incumbent_of(best.time_ms, measure::statistic(best.time_ms, run_.spec.measure.statistic));
    slowness *= slower_ / run_.devices.slowness_of(best.device);
  }
  if (!there) return false;
  if (record) return measure::still_lost(record->samples_ms, measure::scaled(*there, slowness * record->slowness));
  return measure::still_lost(row->samples, row->low_ms, measure::scaled(*there, slowness));
}

void OutcomeHandler::race_slower(double factor) {
  slower_ = factor;
  results_.compare_losers_again();
}

void OutcomeHandler::refute(const store::Record& wrong) {
  run_.stored.add(wrong);
  results_.refute(wrong);
  race_all(true);
}

void OutcomeHandler::race_all(bool stored) {
  incumbent_.clear();
  if (!run_.races()) return;
  for (Row row : results_.rows()) race(run_.space.index_of(store::config_bindings(*row)).value(), row);
  for (std::size_t i = 0; i < results_.records().size(); ++i) {
    const store::Record& record = results_.records()[i];
    if (record.outcome == Outcome::ok && !unsure_.contains(i))
      race(run_.space.index_of(record.config).value(), record, stored);
  }
}

}  // namespace xtune::run
