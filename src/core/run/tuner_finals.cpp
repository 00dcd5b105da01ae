// What follows the search: doubtful losers of the race are measured in full, then the best meet in finals.
#include <algorithm>
#include <cmath>

#include "core/record/best.hpp"
#include "core/record/finals.hpp"
#include "core/run/tuning.hpp"

namespace xtune {

bool Tuning::go_on_after_search() {
  if (finals_begun_) return false;
  return settle() || start_finals();
}

/// A stored loser has lost against the best of another day, and the best of this run may since be a slower one: what
/// its samples do not show to be slower than that (than the last of the best, where several are asked for) is measured
/// in full, the most promising first.
bool Tuning::settle() {
  const auto lost = [&](const Pruned& one) {
    const DeviceInfo& device =
        one.record ? result_.records[*one.record].device : one.row.view->device_of(*one.row.config);
    std::optional<Incumbent> there = bar();
    double slowness = slowness_of(device);
    if (options_.top <= 1) {
      if (!best_score_) return false;
      const Record& first = best();
      there = incumbent_of(first.time_ms, statistic(first.time_ms, spec_.measure.statistic));
      slowness /= slowness_of(first.device);
    }
    if (!there) return false;
    if (one.record) return still_lost(result_.records[*one.record].samples_ms, scaled(*there, slowness));
    return still_lost(one.row.config->samples, one.row.config->low_ms, scaled(*there, slowness));
  };
  const auto doubtful = std::partition(pruned_.begin(), pruned_.end(), lost);
  lost_.insert(lost_.end(), pruned_.begin(), doubtful);
  pruned_.erase(pruned_.begin(), doubtful);
  if (pruned_.empty()) return false;
  const auto least_ms = [&](const Pruned& one) {
    return one.record ? result_.records[*one.record].time_ms.min : one.row.config->low_ms;
  };
  const auto next = std::min_element(pruned_.begin(), pruned_.end(), [&](const Pruned& a, const Pruned& b) {
    return std::pair(least_ms(a), a.index) < std::pair(least_ms(b), b.index);
  });
  const TrialPtr trial = make_trial(next->index);
  trial->purpose = Trial::Purpose::settle;
  trial->replaces = next->record;
  pruned_.erase(next);
  trial->launch = resolver_.launch(trial->config);
  if (ours(trial, "in full " + trial->record.key)) start_compile(trial);
  return true;
}

/// Those of this run, and those of the store that may be as good.
std::vector<const Record*> Tuning::contenders() {
  read_best(static_cast<std::size_t>(std::max(spec_.measure.finals, 1)));
  std::vector<const Record*> records;
  for (const Record& record : result_.records) records.push_back(&record);
  if (options_.fresh || !options_.only.empty()) return records;
  const std::vector<const Record*> others = rivals();
  records.insert(records.end(), others.begin(), others.end());
  return records;
}

bool Tuning::start_finals() {
  finals_begun_ = true;
  if (!options_.only.empty()) return false;
  const std::vector<const Record*> order = ranked(contenders(), criterion_);
  // Where time does not count there is nothing to compare round by round; but the best may be the store's.
  const auto most = static_cast<std::size_t>(criterion_.times ? std::max(spec_.measure.finals, 1) : 1);
  const std::vector<const Record*> finalists = finalists_of(order, most, criterion_);
  std::vector<std::string> keys;
  for (const Record* record : finalists) {
    keys.push_back(record->key);
    if (record < result_.records.data() || record >= result_.records.data() + result_.records.size())
      result_.further.push_back(*record);
  }
  if (!holds_finals() || finalists.size() < 2 || have_met(keys)) return false;
  result_.finalists = finalists.size();
  // Where what disturbs does not go away (a part of a partitioned device), finals held again are no better.
  const Tainted tainted = finalists.front()->tainted.empty() ? Tainted::never : Tainted::too;
  if (take_stored_finals(keys, tainted)) return false;
  FinalsElsewhere held{{}, keys, "finals"};
  // In an order of their own: who has read a part of the finals that another is just storing ranks by them.
  std::sort(keys.begin(), keys.end());
  for (const std::string& key : keys) held.claim += " " + key;
  for (const Record* record : finalists) {
    const TrialPtr trial = make_trial(index_of(space_, record->config).value());
    trial->purpose = Trial::Purpose::finalist;
    trial->launch = resolver_.launch(trial->config);
    trial->record.validation = record->validation;
    trial->record.telemetry.energy_j = record->telemetry.energy_j;  // single launches are too short to tell
    trial->record.dynamic_shared_bytes = trial->launch.shared_bytes;
    held.finalists.push_back(trial);
  }
  if (peers_ && !peers_->take(held.claim))
    finals_elsewhere_ = std::move(held);
  else
    for (const TrialPtr& trial : held.finalists) start_compile(trial);
  return true;
}

/// In finals of this run, which need not be held again because another finalist was found wrong in them.
bool Tuning::have_met(const std::vector<std::string>& keys) const {
  return std::all_of(keys.begin(), keys.end(), [&](const std::string& key) { return met_.contains(key); });
}

/// Those that were held of just these, and decide what this run asks. A fresh run has none of other days'.
bool Tuning::take_stored_finals(const std::vector<std::string>& keys, Tainted tainted, std::int64_t since_unix_ms) {
  if (options_.fresh && !options_.peers) return false;
  std::vector<const Record*> stored;
  for (const Record& record : stored_.finals())
    if (record.unix_time_ms >= since_unix_ms && criterion_.decided_by(record)) stored.push_back(&record);
  const std::vector<std::string> ids = finals_of(stored, keys, tainted);
  if (ids.empty()) return false;
  for (const Record& record : stored_.finals())
    if (record.finals == ids.front()) result_.further.push_back(record);
  return true;
}

void Tuning::hold_finals() {
  // In the order of their keys, not of the compilers: the orders of the rounds are drawn by place.
  std::sort(finalists_.begin(), finalists_.end(),
            [](const TrialPtr& a, const TrialPtr& b) { return a->record.key < b->record.key; });
  std::erase_if(finalists_, [](const TrialPtr& trial) { return trial->record.outcome != Outcome::ok; });
  if (finalists_.size() < 2) return finalists_.clear();
  first().busy = true;
  std::vector<BenchJob> jobs;
  for (const TrialPtr& trial : finalists_) jobs.push_back(job_of(*trial));
  FinalsLimits limits;
  limits.seed = spec_.search.seed;
  limits.rounds = std::clamp(spec_.measure.rep, 1, 200);
  limits.kernel_ms = spec_.measure.max_time_ms;
  limits.timeout_s = spec_.measure.timeout_s;
  FinalsRule rule;
  rule.statistic = criterion_.statistic;
  if (criterion_.score)
    rule.value = [this](std::size_t i, const Reported& reported, double time_ms) {
      Record& record = finalists_[i]->record;
      record.reported = reported;
      return criterion_.at(record, time_ms);
    };
  finals_ =
      std::make_unique<Finals>(*first().bench, std::move(jobs), std::move(rule), limits,
                               [this](std::vector<FinalistResult> results, const std::vector<std::string>& taints) {
                                 on_finals(std::move(results), taints);
                               });
  finals_->start();
}

void Tuning::on_finals(std::vector<FinalistResult> results, const std::vector<std::string>& taints) {
  ++answers_;
  first().busy = false;
  result_.device_busy_s += finals_->busy_s();
  std::int64_t now_ms = 0;  // of all of them: their finals are one measurement
  for (const TrialPtr& finalist : finalists_) now_ms = std::max(now_ms, stamps_.next(KeyDigest(finalist->record.key)));
  std::string id = options_.attempt + "-" + finalists_.front()->record.key.substr(0, 8);
  if (++finals_held_ > 1) id += "-" + std::to_string(finals_held_);
  met_.clear();
  for (std::size_t i = 0; i < results.size(); ++i) {
    FinalistResult& result = results[i];
    if (result.outcome == Outcome::ok && result.samples_ms.empty()) continue;
    Record& record = finalists_[i]->record;
    record.finals = id;
    record.finals_by = criterion_.finals_by();
    record.outcome = result.outcome;
    record.stage = result.outcome == Outcome::ok             ? "measure"
                   : result.outcome == Outcome::wrong_result ? "validate"
                                                             : "run";
    record.message = result.message;
    record.tainted = taints;
    record.samples_ms = std::move(result.samples_ms);
    record.reported = std::move(result.reported);
    if (record.outcome == Outcome::ok)
      record.time_ms = summarize(record.samples_ms);
    else
      record.validation.reset();
    record.compile_s = record.compile_cpu_s = 0;
    stamp(record);
    record.unix_time_ms = now_ms;
    if (result.lack == Lack::none)
      store(record);
    else
      leave_out(record);
    observer_.on_record(record, result.log, false);
    if (record.outcome == Outcome::ok) met_.insert(record.key);
    if (record.outcome == Outcome::wrong_result) {
      refute(record);
      // What lost against it, or was not invited because of it, gets its turn.
      finals_begun_ = false;
    }
    result_.further.push_back(std::move(record));
  }
  finalists_.clear();
}

/// A configuration that passed before, and whose record now says that its results are wrong: it answers nothing.
void Tuning::refute(const Record& wrong) {
  stored_.add(wrong);
  for (Record& record : result_.records) {
    if (record.key != wrong.key || record.outcome != Outcome::ok) continue;
    if (--result_.counts[Outcome::ok] == 0) result_.counts.erase(Outcome::ok);
    ++result_.counts[Outcome::wrong_result];
    record = wrong;
  }
  refute_row(wrong);
  best_score_.reset();
  best_row_.reset();
  leaders_.clear();
  throne_.reset();
  pruned_.insert(pruned_.end(), lost_.begin(), lost_.end());
  lost_.clear();
  std::erase_if(pruned_, [&](const Pruned& one) {
    return one.record && result_.records[*one.record].outcome != Outcome::pruned;
  });
  for (const Row& row : served_) {
    consider_best(row);
    if (races() && may_lead(row)) challenge(row, index_of(space_, config_bindings(*row.config)).value());
  }
  for (std::size_t i = 0; i < result_.records.size(); ++i) {
    const Record& record = result_.records[i];
    if (record.outcome != Outcome::ok) continue;
    consider_best(i);
    if (!races()) continue;
    const TrialPtr trial = make_trial(index_of(space_, record.config).value());
    trial->record = record;
    consider_incumbent(trial, true);
  }
}

}  // namespace xtune
