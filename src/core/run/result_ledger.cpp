// Passes a result on to counts, search, race and calibration.
#include "core/run/result_ledger.hpp"

#include <cmath>

#include "core/record/best.hpp"

namespace xtune::run {

ResultLedger::ResultLedger(const RunContext& run, RecordKeeper& keeper, StoreAnswers& store, const DevicePool& devices,
                           Calibration& calibration, Listeners listeners)
    : run_(run),
      keeper_(keeper),
      store_(store),
      devices_(devices),
      calibration_(calibration),
      listeners_(std::move(listeners)),
      results_(run),
      incumbent_(run.spec.measure.statistic, run.options.top) {}

void ResultLedger::finish(Trial& trial, const std::string& log) {
  if (trial.record.outcome == Outcome::ok) race(trial.proposal.index, trial.record, false);
  store_.tainted_now(trial.record.tainted);
  keeper_.stamp(trial.record);
  keeper_.keep(trial.record, trial.lack);
  book(trial, trial.record, log, false);
}

const record::Record& ResultLedger::book(const Trial& trial, record::Record record, const std::string& log,
                                         bool from_store) {
  const bool settled = trial.purpose == Trial::Purpose::settle;
  const Outcome outcome = record.outcome;
  // Strategies minimise times, or scores derived from the objective.
  double observed = 0;
  const bool measured = outcome == Outcome::ok && run_.measures();
  if (measured) observed = run_.criterion.score ? run_.objective.search_score(record) : run_.criterion.of(record);
  if (outcome == Outcome::pruned) observed = record.time_ms.min;
  if (measured) calibration_.offer(trial.proposal.index, from_store ? nullptr : &trial.artifact);
  if (!settled) listeners_.observe(trial.proposal.number, {trial.proposal.index, outcome, observed});
  const std::size_t place = results_.put(trial, std::move(record));
  if (outcome == Outcome::pruned) pruned_.add(trial.proposal.index, place);
  run_.observer.on_record(results_.records()[place], log, from_store);
  listeners_.progress();
  return results_.records()[place];
}

void ResultLedger::book_row(const SearchPath::Proposal& proposal, const Row& row) {
  const store::StoredConfig& config = *row.config;
  const bool pruned = config.outcome == Outcome::pruned;
  listeners_.observe(proposal.number, {proposal.index, config.outcome, pruned ? config.low_ms : config.time_ms});
  results_.put(row);
  if (pruned) pruned_.add(proposal.index, row);
  if (config.outcome != Outcome::ok) return;
  calibration_.offer(proposal.index, nullptr);
  if (std::isfinite(config.time_ms)) race_row(proposal.index, row);
}

void ResultLedger::race(std::uint64_t index, const record::Record& record, bool stored) {
  if (run_.races()) incumbent_.consider(index, record, devices_.slowness_of(record.device), stored);
}

/// Reads a stored result that may be the incumbent.
void ResultLedger::race_row(std::uint64_t index, const Row& row) {
  if (!run_.races()) return;
  const double time_ms = row.config->time_ms / devices_.slowness_of(row.view->device_of(*row.config));
  if (!incumbent_.may_lead(time_ms, !row.config->tainted)) return;
  if (const auto whole = read_row(row, run_.observer)) race(index, *whole, true);
}

bool ResultLedger::serve(const SearchPath::Proposal& proposal, const store::KeyDigest& key) {
  std::optional<StoreAnswers::Answer> answer = store_.take(key, proposal.index);
  if (!answer) return false;
  results_.count_stored(answer->of_today);
  if (answer->row.config) {
    book_row(proposal, answer->row);
    if (answer->whole) run_.observer.on_record(*answer->whole, "", true);
    listeners_.progress();
    return true;
  }
  Trial trial;
  trial.proposal = proposal;
  const record::Record& record = book(trial, std::move(*answer->whole), "", true);
  if (record.outcome == Outcome::ok) race(proposal.index, record, true);
  return true;
}

bool ResultLedger::has_come(const Trial& trial) {
  const store::KeyDigest key(trial.record.key);
  if (trial.purpose != Trial::Purpose::settle) return serve(trial.proposal, key);
  std::optional<record::Record> found = store_.take_full(key);
  if (!found) return false;
  results_.count_stored(true);
  book(trial, std::move(*found), "", true);
  return true;
}

void ResultLedger::race_best_of(const std::vector<record::Record>& news) {
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

TrialPtr ResultLedger::take_doubtful() {
  const auto next = pruned_.take_doubtful([&](const auto& one) { return still_loses(one); }, results_.records());
  if (!next) return nullptr;
  TrialPtr trial = run_.make_trial(next->index, Trial::Purpose::settle);
  trial->replaces = next->record;
  return trial;
}

/// Compared with the best of this run, or with the last of the best if several are requested.
bool ResultLedger::still_loses(const PrunedResults::Pruned& one) {
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

void ResultLedger::refute(const record::Record& wrong) {
  store_.add(wrong);
  results_.refute(wrong);
  incumbent_.clear();
  pruned_.revive(results_.records());
  for (const Row& row : results_.rows()) {
    results_.consider(row);
    if (run_.races()) race_row(run_.space.index_of(store::config_bindings(*row.config)).value(), row);
  }
  for (std::size_t i = 0; i < results_.records().size(); ++i) {
    const record::Record& record = results_.records()[i];
    if (record.outcome != Outcome::ok) continue;
    results_.consider(i);
    if (run_.races()) race(run_.space.index_of(record.config).value(), record, true);
  }
}

}  // namespace xtune::run
