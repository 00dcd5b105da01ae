// What comes of a trial: its record, stored and told.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/host_name.hpp"
#include "base/text.hpp"
#include "core/run/time_limits.hpp"
#include "core/run/tuning.hpp"
#include "core/space/bindings_text.hpp"
#include "xtune/error.hpp"

namespace xtune {

// Enough for the last words of a program; a record is one line of a file that is read whole.
constexpr std::size_t most_log_bytes = 2048;

void Tuning::fill(Record& record, const Trial& trial, const Lane& lane, const BenchAnswer& answer) const {
  record.device = lane.device;
  record.outcome = answer.outcome;
  const bool timed = answer.outcome == Outcome::ok || answer.outcome == Outcome::pruned;
  record.stage = timed ? "measure" : answer.stage;
  record.message = answer.message;
  if (!timed) record.log = end_of(answer.log, most_log_bytes);
  record.reported = answer.reported;
  record.samples_ms = answer.samples_ms;
  record.tainted = answer.taints;
  record.dynamic_shared_bytes = trial.launch.shared_bytes;
  record.validation = answer.validation;
  record.telemetry = answer.telemetry;
  record.bench_s = answer.busy_s;
  if (timed) record.time_ms = summarize(record.samples_ms);
}

void Tuning::on_benched(const TrialPtr& trial, Lane& lane, const BenchAnswer& answer) {
  ++answers_;
  lane.busy = false;
  result_.device_busy_s += answer.busy_s;
  if (answer.no_device) {
    ready_.push_front(trial);
    return leave(lane, answer.message);
  }
  fill(trial->record, *trial, lane, answer);
  trial->lack = answer.lack;
  if (throne_) {
    ++throne_->races;
    throne_->busy_s += answer.busy_s;
  }
  if (answer.outcome == Outcome::ok && races()) consider_incumbent(trial, false);
  finish(*trial, answer.log);
  follow_drift();
}

void Tuning::stamp(Record& record) {
  record.host = host_name();
  record.attempt = options_.attempt;
  record.unix_time_ms = stamps_.next(KeyDigest(record.key));
  record.limit_s = record.outcome == Outcome::timed_out ? limit_beside_key(spec_, record.stage) : 0;
}

/// A store that cannot be written must not cost the user the run. What a record's key does not describe is not stored.
void Tuning::store(const Record& record) {
  resolver_.throw_if_data_changed();
  try {
    writer_->append(record);
    news_here_ = true;
    if (options_.peers) options_.peers->stored_one();
  } catch (const Error& error) {
    untold_ = true;
    ++not_stored_;
    if (std::exchange(store_failure_, error.what()) != error.what()) observer_.on_warning(error.what());
  }
}

/// A failure that the machine may have caused is told to this run's search, and to nobody else.
void Tuning::leave_out(const Record& record) {
  untold_ = true;
  if (++left_out_ == 1)
    observer_.on_warning(fmt::format("{}: {}: perhaps for a lack of the machine, so it is not stored: {}",
                                     bindings_text(record.config), to_string(record.outcome),
                                     printable(record.message, 500)));
}

/// Stamps and stores a fresh record.
void Tuning::finish(Trial& trial, const std::string& log) {
  stamp(trial.record);
  if (trial.lack == Lack::none)
    store(trial.record);
  else
    leave_out(trial.record);
  take(trial, trial.record, log, false);
}

void Tuning::take(const Trial& trial, Record record, const std::string& log, bool from_store) {
  const bool settled = trial.purpose == Trial::Purpose::settle;
  const std::size_t place = settled && trial.replaces ? *trial.replaces : result_.records.size();
  if (settled && --result_.counts[Outcome::pruned] == 0) result_.counts.erase(Outcome::pruned);
  if (settled && !trial.replaces && --result_.unread[Outcome::pruned] == 0) result_.unread.erase(Outcome::pruned);
  if (!settled) ++evaluated_;
  ++result_.counts[record.outcome];
  // Strategies minimise times, or what stands for them.
  double told = 0;
  if (record.outcome == Outcome::ok) told = criterion_.score ? objective_.search_score(record) : criterion_.of(record);
  if (record.outcome == Outcome::pruned) told = record.time_ms.min;
  if (record.outcome == Outcome::ok && !calibration_.index) calibration_.index = trial.proposal.index;
  if (record.outcome == Outcome::pruned) pruned_.push_back({trial.proposal.index, place, {}});
  if (!settled && !blocks_) path_.set_outcome(trial.proposal.number, {trial.proposal.index, record.outcome, told});
  if (place < result_.records.size())
    result_.records[place] = std::move(record);
  else
    result_.records.push_back(std::move(record));
  if (result_.records[place].outcome == Outcome::ok) consider_best(place);
  observer_.on_record(result_.records[place], log, from_store);
  report();
}

void Tuning::consider_best(std::size_t place) {
  const double score = criterion_.of(result_.records[place]);
  if (!std::isfinite(score) || (best_score_ && score >= *best_score_)) return;
  best_score_ = score;
  best_ = place;
  best_row_.reset();
}

void Tuning::report() {
  Progress progress;
  progress.done = evaluated_;
  progress.total = options_.only.empty() ? std::min<std::uint64_t>(evals_, space_.size()) : options_.only.size();
  progress.from_store = result_.from_store;
  progress.compiling = compiling_;
  progress.waiting = ready_.size();
  progress.elapsed_s = elapsed_s();
  progress.best = !best_score_ ? nullptr : best_row_ ? &best_row_->shown : &result_.records[best_];
  observer_.on_progress(progress);
}

std::uint64_t TuneResult::evaluated() const {
  std::uint64_t count = records.size();
  for (const auto& [outcome, more] : unread) count += more;
  return count;
}

std::vector<const Record*> TuneResult::all() const {
  std::vector<const Record*> pointers;
  for (const std::vector<Record>* list : {&records, &further})
    for (const Record& record : *list) pointers.push_back(&record);
  return pointers;
}

}  // namespace xtune
