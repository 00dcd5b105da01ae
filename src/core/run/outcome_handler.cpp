// Passes a result on to counts, search, race and calibration; and keeps the incumbent of the race.
#include "core/run/outcome_handler.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/measure/finals.hpp"
#include "core/measure/statistics.hpp"
#include "core/record/best.hpp"

namespace xtune::run {
namespace {

constexpr std::size_t races_between = 40, races_before_end = 20, races_in_doubt = 8;

}  // namespace

IncumbentTracker::IncumbentTracker(measure::Statistic statistic, std::size_t top) : statistic_(statistic), top_(top) {}

void IncumbentTracker::consider(std::uint64_t index, const record::Record& record, double slowness, bool stored) {
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

const record::Record* IncumbentTracker::remeasured(const std::string& key) {
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

OutcomeHandler::OutcomeHandler(const RunContext& run, RecordKeeper& keeper, History& history, SearchPath& path,
                               const DevicePool& devices, Calibration& calibration, std::function<void()> progress)
    : run_(run),
      keeper_(keeper),
      history_(history),
      path_(path),
      devices_(devices),
      calibration_(calibration),
      progress_(std::move(progress)),
      results_(run),
      incumbent_(run.spec.measure.statistic, run.options.top) {}

void OutcomeHandler::finish(Trial& trial, const std::string& log) {
  keeper_.stamp(trial.record);
  if (trial.record.outcome == Outcome::ok) race(trial.proposal.index, trial.record, false);
  history_.note_taints(trial.record.tainted);
  keeper_.keep(trial.record, trial.lack);
  handle(trial, trial.record, log, false);
}

void OutcomeHandler::handle(const Trial& trial, record::Record record, const std::string& log, bool from_store) {
  const bool settled = trial.purpose == Trial::Purpose::settle;
  const Outcome outcome = record.outcome;
  // Strategies minimise times, or scores derived from the objective.
  double observed = 0;
  const bool measured = outcome == Outcome::ok && run_.measures();
  if (measured) observed = run_.criterion.score ? run_.objective.search_score(record) : run_.criterion.of(record);
  if (outcome == Outcome::pruned) observed = record.time_ms.min;
  if (measured) calibration_.offer(trial.proposal.index, from_store ? nullptr : &trial.artifact);
  if (!settled) path_.set_outcome(trial.proposal.number, {trial.proposal.index, outcome, observed});
  run_.observer.on_record(results_.put(trial, std::move(record)), log, from_store);
  progress_();
}

void OutcomeHandler::handle(const SearchPath::Proposal& proposal, const Row& row) {
  const store::StoredConfig& config = *row.config;
  const bool pruned = config.outcome == Outcome::pruned;
  path_.set_outcome(proposal.number, {proposal.index, config.outcome, pruned ? config.low_ms : config.time_ms});
  results_.put(proposal.index, row);
  if (config.outcome != Outcome::ok) return;
  calibration_.offer(proposal.index, nullptr);
  if (std::isfinite(config.time_ms)) race(proposal.index, row);
}

void OutcomeHandler::race(std::uint64_t index, const record::Record& record, bool stored) {
  if (run_.races()) incumbent_.consider(index, record, devices_.slowness_of(record.device), stored);
}

/// Reads a stored result that may be the incumbent.
void OutcomeHandler::race(std::uint64_t index, const Row& row) {
  if (!run_.races()) return;
  const double time_ms = row.config->time_ms / devices_.slowness_of(row.view->device_of(*row.config));
  if (!incumbent_.may_lead(time_ms, !row.config->tainted)) return;
  if (const auto whole = read_row(row, run_.observer)) race(index, *whole, true);
}

bool OutcomeHandler::serve(const SearchPath::Proposal& proposal) {
  if (history_.empty()) return false;
  std::optional<History::Answer> answer;
  for (const store::KeyDigest& key : run_.keys_at(proposal.index))
    if (!answer) answer = history_.take(key, proposal.index);
  if (!answer) return false;
  results_.count_stored(answer->from_peers);
  if (answer->row.config) {
    handle(proposal, answer->row);
    if (answer->whole) run_.observer.on_record(*answer->whole, "", true);
    progress_();
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
  std::optional<record::Record> found = history_.take_full(store::KeyDigest(trial.record.key));
  if (!found) return false;
  results_.count_stored(true);
  handle(trial, std::move(*found), "", true);
  return true;
}

void OutcomeHandler::race_best_of(const std::vector<record::Record>& news) {
  if (!run_.races()) return;
  const record::Record* best = nullptr;
  for (const record::Record& record : news)
    if (record.outcome == Outcome::ok && record::is_first(record) && record.tainted.empty() &&
        record::same_device(record.device, run_.target.device) &&
        (!best || run_.criterion.of(record) < run_.criterion.of(*best)))
      best = &record;
  const auto index = best ? run_.space.index_of(best->config) : std::nullopt;
  if (index && run_.make_trial(*index)->record.key == best->key) race(*index, *best, true);
}

void OutcomeHandler::follow_speed(const std::string& key, double before) {
  const double now = keeper_.slowness();
  const std::size_t since = std::exchange(checked_, results_.records().size());
  if (now == before) return;
  for (std::size_t i = since; i < checked_; ++i) {
    const record::Record& record = results_.records()[i];
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
    const record::Record& record = results_.records()[place];
    if (record.outcome == Outcome::ok) return settling(run_.space.index_of(record.config).value(), place);
  }
  const auto next = results_.take_doubtful([&](const auto& one) { return still_loses(one); });
  return next ? settling(next->index, next->record) : nullptr;
}

/// Compared with the best of this run, or with the last of the best if several are requested.
bool OutcomeHandler::still_loses(const Results::Pruned& one) {
  const Row& row = one.row;
  const record::Record* const record = one.record ? &results_.records()[*one.record] : nullptr;
  double slowness = devices_.slowness_of(record ? record->device : row.view->device_of(*row.config));
  std::optional<measure::Incumbent> there = incumbent_.bar();
  if (run_.options.top <= 1) {
    if (!results_.has_best()) return false;
    const record::Record& best = results_.best();
    there = measure::incumbent_of(best.time_ms, measure::statistic(best.time_ms, run_.spec.measure.statistic));
    slowness /= devices_.slowness_of(best.device);
  }
  if (!there) return false;
  if (record) return measure::still_lost(record->samples_ms, measure::scaled(*there, slowness * record->slowness));
  return measure::still_lost(row.config->samples, row.config->low_ms, measure::scaled(*there, slowness));
}

void OutcomeHandler::refute(const record::Record& wrong) {
  history_.add(wrong);
  results_.refute(wrong);
  race_all(true);
}

void OutcomeHandler::race_all(bool stored) {
  incumbent_.clear();
  if (!run_.races()) return;
  for (const Row& row : results_.rows()) race(run_.space.index_of(store::config_bindings(*row.config)).value(), row);
  for (std::size_t i = 0; i < results_.records().size(); ++i) {
    const record::Record& record = results_.records()[i];
    if (record.outcome == Outcome::ok && !unsure_.contains(i))
      race(run_.space.index_of(record.config).value(), record, stored);
  }
}

}  // namespace xtune::run
