// The incumbent of a run's race: who it is, and what it takes by now.
#include <algorithm>

#include "core/run/tuning.hpp"

namespace xtune {
namespace {

// The incumbent is measured again after so many challengers, where that takes a twentieth of their time at most; sooner
// where it was measured by another run, when the device may have been another in all but name.
constexpr std::size_t races_between = 40, races_after_stored = 8;
constexpr double busy_share = 0.05;
constexpr std::size_t rounds = 7;

}  // namespace

void Tuning::consider_incumbent(const TrialPtr& trial, bool from_store) {
  const Record& record = trial->record;
  const double slowness = slowness_of(record.device);
  const double measured_ms = statistic(record.time_ms, spec_.measure.statistic), time_ms = measured_ms / slowness;
  if (options_.top > 1 && record.tainted.empty()) {
    const auto place =
        std::find_if(leaders_.begin(), leaders_.end(), [&](const auto& it) { return it.first > time_ms; });
    leaders_.insert(place, {time_ms, scaled(incumbent_of(record.time_ms, measured_ms), 1 / slowness)});
    if (leaders_.size() > options_.top) leaders_.pop_back();
  }
  if (throne_) {
    const bool clean = record.tainted.empty(), other_clean = throne_->trial->record.tainted.empty();
    if (clean != other_clean ? other_clean : time_ms >= throne_->time_ms) return;
  }
  throne_.emplace();
  throne_->trial = trial;
  throne_->incumbent = scaled(incumbent_of(record.time_ms, measured_ms), 1 / slowness);
  throne_->time_ms = time_ms;
  throne_->cost_s = record.bench_s;
  throne_->stored = from_store;
}

/// Whether a stored result may change who the incumbent is, or one of the best that are asked for.
bool Tuning::may_lead(const Row& row) const {
  const bool clean = !row.config->tainted;
  const double time_ms = row.config->time_ms / slowness_of(row.view->device_of(*row.config));
  if (options_.top > 1 && clean && (leaders_.size() < options_.top || leaders_.back().first > time_ms)) return true;
  if (!throne_) return true;
  const bool other_clean = throne_->trial->record.tainted.empty();
  return clean != other_clean ? clean : time_ms < throne_->time_ms;
}

/// Whom a challenger races: the slowest of the best that are asked for, nobody while there are fewer.
std::optional<Incumbent> Tuning::bar() const {
  if (options_.top > 1) return leaders_.size() < options_.top ? std::nullopt : std::optional(leaders_.back().second);
  return throne_ ? std::optional(throne_->incumbent) : std::nullopt;
}

void Tuning::follow_drift() {
  if (!races() || !throne_ || throne_->asked || search_cut_) return;
  if (throne_->races < (throne_->stored ? races_after_stored : races_between)) return;
  if (throne_->cost_s > busy_share * throne_->busy_s && !throne_->stored) return;
  throne_->asked = true;
  const TrialPtr trial = make_trial(throne_->trial->proposal.index);
  trial->purpose = Trial::Purpose::drift;
  trial->launch = resolver_.launch(trial->config);
  start_compile(trial);  // from the cache
}

void Tuning::measure_incumbent(const TrialPtr& trial) {
  RoundsJob job{{job_of(*trial)}, std::vector<std::vector<std::size_t>>(rounds, {0})};
  first().busy = true;
  first().bench->measure_rounds(job, spec_.measure.timeout_s, [this, trial](const RoundsAnswer& answer) {
    ++answers_;
    first().busy = false;
    result_.device_busy_s += answer.busy_s;
    const bool sound = answer.outcome == Outcome::ok && !answer.samples_ms.empty() && !answer.samples_ms[0].empty();
    if (answer.outcome == Outcome::wrong_result) {
      Record& record = trial->record;
      record.outcome = answer.outcome;
      record.stage = "validate";
      record.message = answer.message;
      record.bench_s = answer.busy_s;
      stamp(record);
      store(record);
      observer_.on_record(record, answer.log, false);
      result_.further.push_back(record);
      refute(record);
    }
    // Whether it failed or another is best by now: its turn comes again.
    if (!throne_ || throne_->trial->record.key != trial->record.key) return;
    throne_->asked = false;
    throne_->stored = false;
    throne_->races = 0;
    throne_->busy_s = 0;
    if (!sound) return;
    Record record = throne_->trial->record;
    record.device = first().device;
    record.drift = true;
    record.samples_ms = answer.samples_ms[0];
    record.time_ms = summarize(record.samples_ms);
    record.tainted = answer.taints;
    record.compile_s = record.compile_cpu_s = 0;
    record.bench_s = answer.busy_s;
    stamp(record);
    store(record);
    if (!record.tainted.empty()) return;
    throne_->time_ms = statistic(record.time_ms, spec_.measure.statistic);
    throne_->incumbent = incumbent_of(record.time_ms, throne_->time_ms);
    throne_->cost_s = answer.busy_s;
  });
}

}  // namespace xtune
