// Chooses the finalists, holds the finals and records them.
#include "core/run/finals_phase.hpp"

#include <algorithm>
#include <utility>

#include "core/record/best.hpp"

namespace xtune::run {

FinalsPhase::FinalsPhase(const RunContext& run, RunResults& results, StoreAnswers& store, RecordKeeper& keeper,
                         DevicePool& devices, WorkerTotals& totals, Listeners listeners)
    : run_(run),
      results_(results),
      store_(store),
      keeper_(keeper),
      devices_(devices),
      totals_(totals),
      listeners_(std::move(listeners)) {}

/// Chooses among this run's configurations and stored ones that may be as good. The latter become part of the result.
std::vector<const record::Record*> FinalsPhase::finalists_now() {
  results_.read_best(run_.options.compare ? run_.options.only.size() : run_.max_finalists());
  std::vector<const record::Record*> contenders;
  for (const record::Record& record : results_.records()) contenders.push_back(&record);
  if (run_.options.compare) return record::ranked(contenders, run_.criterion);
  std::vector<const record::Record*> rivals;
  if (!run_.options.fresh) rivals = store_.rivals(results_.finals_reach());
  contenders.insert(contenders.end(), rivals.begin(), rivals.end());
  const std::vector<const record::Record*> order = record::ranked(contenders, run_.criterion);
  // If time does not count, there is nothing to compare round by round; but the best may be a stored one.
  std::vector<const record::Record*> finalists =
      record::finalists_of(order, run_.criterion.times ? run_.max_finalists() : 1, run_.criterion);
  if (const record::Record* const fallback = default_in_doubt(order, finalists)) finalists.push_back(fallback);
  for (const record::Record* record : finalists)
    if (std::find(rivals.begin(), rivals.end(), record) != rivals.end()) results_.add_further(*record);
  return finalists;
}

/// The default configuration, if it may be as good as the best and is not among the finalists: the answer must not be
/// slower than what runs without one.
const record::Record* FinalsPhase::default_in_doubt(const std::vector<const record::Record*>& order,
                                                    const std::vector<const record::Record*>& finalists) const {
  const std::optional<std::uint64_t> index = run_.suggested.default_index;
  if (!index || !run_.criterion.times || finalists.size() < 2) return nullptr;
  const Bindings config = run_.space.named(run_.space.at(*index));
  const auto is_default = [&](const record::Record* record) { return record->config == config; };
  if (std::any_of(finalists.begin(), finalists.end(), is_default)) return nullptr;
  const auto all = record::finalists_of(order, order.size(), run_.criterion);
  const auto found = std::find_if(all.begin(), all.end(), is_default);
  return found == all.end() ? nullptr : *found;
}

bool FinalsPhase::start() {
  begun_ = true;
  if (!run_.options.only.empty() && !run_.options.compare) return false;
  const std::vector<const record::Record*> finalists = finalists_now();
  std::vector<std::string> keys;
  for (const record::Record* record : finalists) keys.push_back(record->key);
  if (!run_.holds_finals() || finalists.size() < 2 || have_met(keys)) return false;
  results_.result().finalists = finalists.size();
  // If a disturbance is permanent (a part of a partitioned device) or lasts, repeating the finals would not help.
  const bool clean =
      std::any_of(finalists.begin(), finalists.end(), [](const auto* one) { return one->tainted.empty(); });
  const record::Tainted tainted = clean && !store_.busy() ? record::Tainted::never : record::Tainted::too;
  if (take_stored(keys, tainted)) return false;
  Held held{{}, keys, "finals"};
  // In a fixed order: a process that has read only a part of the finals that another is storing ranks by them.
  std::sort(keys.begin(), keys.end());
  for (const std::string& key : keys) held.claim += " " + key;
  for (const record::Record* record : finalists) {
    const TrialPtr trial = run_.make_trial(run_.space.index_of(record->config).value(), Trial::Purpose::finalist);
    trial->record.validation = record->validation;
    trial->record.repeatable = record->repeatable;
    trial->record.telemetry.energy_j = record->telemetry.energy_j;  // single launches are too short to measure it
    trial->record.dynamic_shared_bytes = trial->launch.max_shared_bytes();
    held.finalists.push_back(trial);
  }
  if (peers_ && !peers_->take(held.claim))
    elsewhere_ = std::move(held);
  else
    for (const TrialPtr& trial : held.finalists) listeners_.compile(trial);
  return true;
}

/// Whether they met in finals of this run, which need not be repeated because another finalist turned out to be wrong.
bool FinalsPhase::have_met(const std::vector<std::string>& keys) const {
  return std::all_of(keys.begin(), keys.end(), [&](const std::string& key) { return passed_.contains(key); });
}

bool FinalsPhase::take_stored(const std::vector<std::string>& keys, record::Tainted tainted,
                              std::int64_t since_unix_ms) {
  std::vector<record::Record> stored = store_.finals_of_keys(keys, tainted, since_unix_ms);
  for (record::Record& record : stored) results_.add_further(std::move(record));
  return !stored.empty();
}

void FinalsPhase::look_at_peers() {
  if (!elsewhere_) return;
  // Finals of other processes belong to this search, disturbed or not: they are not repeated.
  if (take_stored(elsewhere_->keys, record::Tainted::too, peers_->began_unix_ms())) {
    elsewhere_.reset();
  } else if (peers_->take(elsewhere_->claim)) {
    const Held left = *std::exchange(elsewhere_, std::nullopt);
    for (const TrialPtr& trial : left.finalists) listeners_.compile(trial);
  }
}

FinalsRule FinalsPhase::rule() {
  FinalsRule rule;
  rule.statistic = run_.criterion.statistic;
  if (run_.criterion.score)
    rule.value = [this](std::size_t i, const ipc::Reported& reported, double time_ms) {
      record::Record& record = finalists_[i]->record;
      record.reported = reported;
      return run_.criterion.at(record, time_ms);
    };
  return rule;
}

void FinalsPhase::hold() {
  // In the order of their keys, not of the compilers: the random orders of the rounds use positions.
  std::sort(finalists_.begin(), finalists_.end(),
            [](const TrialPtr& a, const TrialPtr& b) { return a->record.key < b->record.key; });
  std::erase_if(finalists_, [](const TrialPtr& trial) { return trial->record.outcome != Outcome::ok; });
  if (finalists_.size() < 2) return finalists_.clear();
  devices_.first().busy = true;
  std::vector<ipc::BenchJob> jobs;
  for (const TrialPtr& trial : finalists_) jobs.push_back(run_.bench_job(*trial));
  FinalsLimits limits;
  limits.seed = run_.spec.search.seed;
  limits.rounds = std::clamp(run_.spec.measure.rep, 1, 200);
  limits.kernel_ms = run_.spec.measure.max_time_ms;
  limits.timeout_s = run_.bench_timeout_s();
  finals_ =
      std::make_unique<Finals>(*devices_.first().bench, std::move(jobs), rule(), limits,
                               [this](std::vector<FinalistResult> results, const std::vector<std::string>& taints) {
                                 finish(std::move(results), taints);
                               });
  if (keeper_.has_reference())
    finals_->time_reference([this](std::vector<double> samples_ms) { keeper_.renew_reference(std::move(samples_ms)); });
  finals_->start();
}

void FinalsPhase::finish(std::vector<FinalistResult> results, const std::vector<std::string>& taints) {
  ++totals_.answers;
  devices_.first().busy = false;
  store_.tainted_now(taints);
  totals_.device_busy_s += finals_->busy_s();
  std::int64_t now_ms = 0;  // the same for all of them: their finals are one measurement
  for (const TrialPtr& finalist : finalists_)
    now_ms = std::max(now_ms, keeper_.next_stamp(store::KeyDigest(finalist->record.key)));
  std::string id = run_.options.attempt + "-" + finalists_.front()->record.key.substr(0, 8);
  if (++held_ > 1) id += "-" + std::to_string(held_);
  passed_.clear();
  for (std::size_t i = 0; i < results.size(); ++i) {
    FinalistResult& result = results[i];
    if (result.outcome == Outcome::ok && result.samples_ms.empty()) continue;
    record::Record& record = finalists_[i]->record;
    record.finals = id;
    record.tainted = taints;
    take(record, std::move(result), now_ms);
    results_.add_further(std::move(record));
  }
  finalists_.clear();
}

void FinalsPhase::take(record::Record& record, FinalistResult result, std::int64_t now_ms) {
  record.finals_by = run_.criterion.finals_by();
  record.outcome = result.outcome;
  record.stage = result.outcome == Outcome::ok             ? "measure"
                 : result.outcome == Outcome::wrong_result ? "validate"
                                                           : "run";
  record.message = result.message;
  record.samples_ms = std::move(result.samples_ms);
  record.reported = std::move(result.reported);
  if (record.outcome == Outcome::ok)
    record.time_ms = measure::summarize(record.samples_ms);
  else
    record.validation.reset();
  record.compile_s = record.compile_cpu_s = 0;
  keeper_.stamp(record);
  record.unix_time_ms = now_ms;
  keeper_.keep(record, result.lack);
  run_.observer.on_record(record, result.log, false);
  if (record.outcome == Outcome::ok) passed_.insert(record.key);
  if (record.outcome != Outcome::wrong_result) return;
  listeners_.refuted(record);
  // Configurations that lost against it, or were not invited because of it, get their turn.
  begun_ = false;
}

}  // namespace xtune::run
