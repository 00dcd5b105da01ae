// Passes a result on to counts, search, race and calibration; and keeps the incumbent of the race.
#include "core/run/outcome_handler.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/measure/statistics.hpp"
#include "core/record/best.hpp"

namespace xtune::run {
namespace {

constexpr std::size_t races_between = 40, races_after_stored = 8;
constexpr double max_busy_share = 0.05;

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
  }
  best_.emplace(Best{index, record, incumbent, time_ms, record.bench_s, stored});
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
  best_.reset();
}

void IncumbentTracker::count_race(double busy_s) {
  if (!best_) return;
  ++best_->races;
  best_->busy_s += busy_s;
}

std::optional<std::uint64_t> IncumbentTracker::take_due() {
  if (!best_ || best_->asked) return std::nullopt;
  if (best_->races < (best_->stored ? races_after_stored : races_between)) return std::nullopt;
  if (best_->cost_s > max_busy_share * best_->busy_s && !best_->stored) return std::nullopt;
  best_->asked = true;
  return best_->index;
}

const record::Record* IncumbentTracker::remeasured(const std::string& key) {
  if (!best_ || best_->record.key != key) return nullptr;
  best_->asked = false;
  best_->stored = false;
  best_->races = 0;
  best_->busy_s = 0;
  return &best_->record;
}

void IncumbentTracker::update(const measure::Summary& time_ms, double busy_s) {
  best_->time_ms = measure::statistic(time_ms, statistic_);
  best_->incumbent = measure::incumbent_of(time_ms, best_->time_ms);
  best_->cost_s = busy_s;
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
  if (trial.record.outcome == Outcome::ok) race(trial.proposal.index, trial.record, false);
  history_.note_taints(trial.record.tainted);
  keeper_.stamp(trial.record);
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
  std::optional<History::Answer> answer = history_.take(run_.key_at(proposal.index), proposal.index);
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

TrialPtr OutcomeHandler::take_doubtful() {
  const auto next = results_.take_doubtful([&](const auto& one) { return still_loses(one); });
  if (!next) return nullptr;
  TrialPtr trial = run_.make_trial(next->index, Trial::Purpose::settle);
  trial->replaces = next->record;
  return trial;
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
  if (record) return measure::still_lost(record->samples_ms, measure::scaled(*there, slowness));
  return measure::still_lost(row.config->samples, row.config->low_ms, measure::scaled(*there, slowness));
}

void OutcomeHandler::refute(const record::Record& wrong) {
  history_.add(wrong);
  results_.refute(wrong);
  incumbent_.clear();
  if (!run_.races()) return;
  for (const Row& row : results_.rows()) race(run_.space.index_of(store::config_bindings(*row.config)).value(), row);
  for (const record::Record& record : results_.records())
    if (record.outcome == Outcome::ok) race(run_.space.index_of(record.config).value(), record, true);
}

}  // namespace xtune::run
