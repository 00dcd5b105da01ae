// Chooses the finalists, holds the finals and records them.
//
// During the search configurations are measured minutes apart, while clocks, temperature and neighbours change. The
// finals therefore measure the best few again, interleaved: each round launches every finalist once, in random order,
// and rounds are compared within themselves (measure/finals.hpp has the statistics and the source). After the first
// ten rounds, each further request asks for rounds_a_request = 5: enough to make the traffic with the worker small,
// few enough to stop soon after the decision.
//
// Finalists that are certainly slower or certainly as good leave, so that the remaining rounds are for those in doubt.
// A finalist that fails leaves with its failure. If the worker dies and did not report which launch killed it, each
// finalist is launched on its own in a new worker to find out. After max_unexplained = 3 deaths without a known cause
// the finals end with the results so far, because the cause is then more likely the machine than a configuration.
//
// A configuration that was only lucky in the search may have kept a better one out. Its finals show that, and they are
// held again, with those whom the winner's own time would have let in.
#include "core/measure/finals.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>

#include "base/text.hpp"
#include "core/measure/noise_guard.hpp"
#include "core/run/run_parts.hpp"
#include "core/store/best.hpp"
#include "core/store/record.hpp"

namespace xtune::run {
namespace {

constexpr std::size_t rounds_a_request = 5;
constexpr int max_unexplained = 3;
constexpr int max_finals = 4;  ///< that follow each other because of finalists that were only lucky
/// Multiple of the limits of rounds and time if the device changed its speed.
constexpr int after_drift = 4;

/// Appends values of the same metrics, from these rounds.
void append(const Reported& more, std::size_t rounds, Reported& reported) {
  reported.resize(std::max(reported.size(), more.size()));
  for (std::size_t i = 0; i < more.size(); ++i) {
    const std::vector<double>& values = more[i].second;
    reported[i].first = more[i].first;
    for (std::size_t round = 0; round < std::min(rounds, values.size()); ++round)
      reported[i].second.push_back(values[round]);
  }
}

}  // namespace

/// Requests ten rounds from the bench service at first, then five at a time. Finalists leave when they are certainly
/// slower than the fastest, or certainly as good: the following rounds are for those in doubt. A finalist that fails is
/// out, and the others continue in a new worker; if it is unknown which one crashed the worker, each is launched on its
/// own to find out. A worker that dies three times without a known cause ends the finals.
class FinalsRounds {
 public:
  struct Finalist {
    TrialPtr trial;     ///< its record gets outcome, message, samples by round (none: it failed) and reported values
    std::string log;    ///< of its failure
    bool left = false;  ///< judged
  };
  /// ended: called once, at the end of the rounds. This must outlive its calls of the first device.
  FinalsRounds(RunParts& run, const std::vector<TrialPtr>& trials, std::function<void()> ended)
      : run_(run), ended_(std::move(ended)), times_reference_(run.keeper.has_reference()) {
    for (const TrialPtr& trial : trials) finalists_.push_back({trial, "", false});
  }
  void start() { next(); }
  std::vector<Finalist>& finalists() noexcept { return finalists_; }
  const std::vector<std::string>& taints() const noexcept { return taints_; }
  double busy_s() const noexcept { return busy_s_; }  ///< of the device

 private:
  void next();
  void ask(const std::vector<std::size_t>& who, std::size_t rounds, bool counts);
  void take(const std::vector<std::size_t>& who, const RoundsAnswer& answer, bool counts);
  store::Record& record(std::size_t finalist) { return finalists_[finalist].trial->record; }

  RunParts& run_;
  const std::function<void()> ended_;
  std::vector<Finalist> finalists_;
  std::vector<std::size_t> suspects_;  ///< to be launched on their own
  std::vector<std::size_t> unjudged_;  ///< launched together with one that failed, not checked themselves
  std::vector<std::string> taints_;
  std::size_t round_ = 0;
  int unexplained_ = 0;
  double busy_s_ = 0;
  bool times_reference_;  ///< beside the first rounds
};

void FinalsRounds::next() {
  if (!suspects_.empty()) {
    const std::size_t suspect = suspects_.back();
    suspects_.pop_back();
    return ask({suspect}, 1, false);
  }
  if (!unjudged_.empty()) return ask(std::exchange(unjudged_, {}), 1, false);
  std::vector<std::vector<double>> times, values;
  for (const Finalist& one : finalists_) {
    const std::vector<double>& samples_ms = times.emplace_back(one.trial->record.samples_ms);
    values.push_back(samples_ms);
    if (run_.criterion.score)
      for (double& each : values.back()) each = run_.criterion.at(one.trial->record, each);
  }
  const measure::FinalsVerdict verdict = measure::judge_finals(values, run_.criterion.statistic);
  std::vector<std::size_t> who;
  double longest_ms = 0;
  for (std::size_t i = 0; i < finalists_.size(); ++i) {
    bool& left = finalists_[i].left;
    left = left || (verdict.certain[i] && verdict.standing[i] != measure::Standing::fastest);
    if (record(i).outcome != Outcome::ok || left) continue;
    who.push_back(i);
    longest_ms = std::max(longest_ms, std::accumulate(times[i].begin(), times[i].end(), 0.0));
  }
  // Rounds that were taken while the device changed its speed say less.
  const int more = measure::finals_drift(times) != 1 ? after_drift : 1;
  const auto max_rounds = static_cast<std::size_t>(std::clamp(run_.spec.measure.rep, 1, 200) * more);
  if (verdict.decided || who.size() < 2 || round_ >= max_rounds || longest_ms >= run_.spec.measure.max_time_ms * more ||
      unexplained_ == max_unexplained)
    return ended_();  // may destroy this object
  ask(who, std::min(round_ == 0 ? measure::finals_least_rounds : rounds_a_request, max_rounds - round_), true);
}

void FinalsRounds::ask(const std::vector<std::size_t>& who, std::size_t rounds, bool counts) {
  RoundsJob job;
  for (const std::size_t i : who) job.jobs.push_back(run_.bench_job(*finalists_[i].trial));
  std::vector<std::size_t> places(who.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  for (std::size_t i = 0; i < rounds; ++i)
    job.rounds.push_back(measure::finals_order(places, run_.spec.search.seed, round_ + i));
  job.time_reference = counts && times_reference_;
  run_.devices.first().bench->measure_rounds(
      job, run_.bench_timeout_s() * static_cast<double>(who.size()),
      [this, who, counts](const RoundsAnswer& answer) { take(who, answer, counts); });
}

void FinalsRounds::take(const std::vector<std::size_t>& who, const RoundsAnswer& answer, bool counts) {
  busy_s_ += answer.busy_s;
  if (!answer.reference_ms.empty() && std::exchange(times_reference_, false))
    run_.keeper.renew_reference(answer.reference_ms);
  for (const std::string& taint : answer.taints) base::add_once(taints_, taint);
  if (counts && answer.samples_ms.size() == who.size()) {
    std::size_t rounds = answer.samples_ms.front().size();
    for (const std::vector<double>& series : answer.samples_ms) rounds = std::min(rounds, series.size());
    for (std::size_t place = 0; place < who.size(); ++place) {
      store::Record& own = record(who[place]);
      for (std::size_t i = 0; i < rounds; ++i)
        own.samples_ms.push_back(store::kept_time_ms(answer.samples_ms[place][i]));
      if (place < answer.reported.size()) append(answer.reported[place], rounds, own.reported);
    }
    round_ += rounds;
    if (rounds == 0 && answer.outcome == Outcome::ok) unexplained_ = max_unexplained;
  }
  if (answer.outcome != Outcome::ok) {
    std::optional<std::size_t> culprit = answer.failed;
    if (who.size() == 1) culprit = 0;
    if (culprit) {
      store::Record& failed = record(who.at(*culprit));
      failed.outcome = answer.outcome;
      failed.message = answer.message;
      failed.samples_ms.clear();
      failed.reported.clear();
      finalists_[who[*culprit]].log = answer.log;
      finalists_[who[*culprit]].trial->lack = answer.lack;
      unjudged_ = who;
      unjudged_.erase(unjudged_.begin() + static_cast<std::ptrdiff_t>(*culprit));
    } else {
      ++unexplained_;
      suspects_ = who;
    }
  }
  next();
}

FinalsPhase::FinalsPhase(RunParts& run) : run_(run), results_(run.outcomes.results()) {}

FinalsPhase::~FinalsPhase() = default;

/// Chooses among this run's configurations and stored ones that may be as good. The latter become part of the result.
std::vector<const store::Record*> FinalsPhase::finalists_now() {
  results_.read_best(run_.options.compare ? run_.options.only.size() : run_.max_finalists());
  if (!met_.empty())
    results_.read_within(run_.max_finalists(),
                         winners_search_ms(store::Standings(results_.result().all(), run_.criterion)));
  std::vector<const store::Record*> contenders = store::RecordPointers(results_.records());
  if (run_.options.compare) return store::ranked(contenders, run_.criterion);
  std::vector<const store::Record*> rivals;
  if (!run_.options.fresh)
    rivals = run_.stored.rivals(
        results_.has_best() ? run_.criterion.interval(results_.best(), store::finals_drift_of_days).second : HUGE_VAL);
  contenders.insert(contenders.end(), rivals.begin(), rivals.end());
  std::vector<const store::Record*> finalists;
  if (met_.empty()) {
    const std::vector<const store::Record*> order = store::ranked(contenders, run_.criterion);
    // If time does not count, there is nothing to compare round by round; but the best may be a stored one.
    finalists = store::finalists_of(order, run_.criterion.times ? run_.max_finalists() : 1, run_.criterion);
    if (const store::Record* const fallback = default_beside(order, finalists)) finalists.push_back(fallback);
    const store::Record* const before = answer_before(contenders);
    if (before && std::find(finalists.begin(), finalists.end(), before) == finalists.end()) finalists.push_back(before);
  } else {
    std::vector<store::Record>& further = results_.result().further;
    further.reserve(further.size() + rivals.size());  // add_further leaves the others where they are
    for (const store::Record& record : further) contenders.push_back(&record);
    finalists = with_kept_out(store::Standings(contenders, run_.criterion));
  }
  for (const store::Record* record : finalists)
    if (std::find(rivals.begin(), rivals.end(), record) != rivals.end()) results_.add_further(*record);
  return finalists;
}

double FinalsPhase::time_of(const store::Record& record) const {
  return measure::statistic(record.time_ms, run_.criterion.statistic);
}

/// By how much the winner was lucky in the search, as a factor, at the least: it has slowed down more than another
/// finalist. That one became faster says nothing of the winner: the default is measured first, often by a cold machine.
double FinalsPhase::luck(const store::Standings& standings) const {
  const auto slowdown = [&](const store::Record& finalist, double now_ms, double measure::Summary::*before) {
    const store::Record& searched = standings.searched(finalist);
    return &searched == &finalist ? 1 : now_ms / (searched.time_ms.*before);
  };
  const store::Record& winner = standings.best();
  double most = 1;
  for (const store::Record* const other : standings.order())
    if (other != &winner && met_.contains(other->key))
      most = std::max(most, slowdown(winner, winner.time_ms.low, &measure::Summary::high) /
                                std::max(slowdown(*other, other->time_ms.high, &measure::Summary::low), 1.0));
  return most;
}

/// The winner's time in the search, had it not been lucky.
double FinalsPhase::winners_search_ms(const store::Standings& standings) const {
  return standings.empty() ? 0 : time_of(standings.searched(standings.best())) * luck(standings);
}

/// Those that met, and those that rank before the winner or that the search found faster on the scale of its time, by
/// more than a tie: others kept them out, which were only lucky. Empty: there are none.
std::vector<const store::Record*> FinalsPhase::with_kept_out(const store::Standings& standings) const {
  const std::vector<const store::Record*>& order = standings.order();
  const auto is_met = [&](const store::Record* record) { return met_.contains(record->key); };
  const auto winner = std::find_if(order.begin(), order.end(), is_met);
  if (winner == order.end() || ended_ == max_finals) return {};
  const double luck_of_winner = luck(standings);
  std::vector<const store::Record*> finalists, kept_out;
  for (auto place = order.begin(); place != order.end(); ++place) {
    const store::Record& record = **place;
    if (is_met(&record)) {
      finalists.push_back(&record);
    } else if (std::none_of(record.tainted.begin(), record.tainted.end(), measure::changed_process)) {
      const auto ratio = standings.ratio(record);
      const double time_ms = ratio ? time_of(standings.best()) * ratio->value / luck_of_winner : HUGE_VAL;
      const double most = run_.criterion.at(record, time_ms * (1 + measure::finals_tie));
      if (place < winner || most < run_.criterion.of(standings.best())) kept_out.push_back(&record);
    }
  }
  if (kept_out.empty()) return {};
  kept_out.resize(std::min(kept_out.size(), run_.max_finalists()));
  finalists.insert(finalists.end(), kept_out.begin(), kept_out.end());
  return finalists;
}

/// What lost its race against a configuration that was only lucky races the winner, as the search saw it, or what may
/// have been skipped.
void FinalsPhase::race_again() {
  const store::Standings standings(results_.result().all(), run_.criterion);
  if (standings.empty() || !met_.contains(standings.best().key) || !results_.has_best()) return;
  double lowest_ms = winners_search_ms(standings);
  for (const store::Record* const record : standings.order())
    if (!met_.contains(record->key)) lowest_ms = std::min(lowest_ms, time_of(*record));
  const double slower = lowest_ms / time_of(results_.best());
  if (slower > store::finals_drift) run_.outcomes.race_slower(slower);
}

/// Which of them the stored finals put first, so that its winning there is not forgotten because its search was slow;
/// null: there are none.
const store::Record* FinalsPhase::answer_before(std::vector<const store::Record*> contenders) const {
  const std::size_t own = contenders.size();
  if (!run_.criterion.times || run_.options.fresh) return nullptr;
  for (const store::Record& record : run_.stored.finals())
    if (run_.space.index_of(record.config)) contenders.push_back(&record);
  const auto order = store::ranked(contenders, run_.criterion);
  const auto first = std::find_if(order.begin(), order.end(), [](const auto* one) { return !one->finals.empty(); });
  if (first == order.end()) return nullptr;
  const auto end = contenders.begin() + static_cast<std::ptrdiff_t>(own);
  const auto found = std::find_if(contenders.begin(), end, [&](const store::Record* one) {
    return one->key == (*first)->key && one->outcome == Outcome::ok;
  });
  return found == end ? nullptr : *found;
}

/// The default configuration, if it passed and is not among the finalists. It is measured first, often with a slower
/// clock and colder caches than all others: how much the best gains is known only if they are measured side by side.
const store::Record* FinalsPhase::default_beside(const std::vector<const store::Record*>& order,
                                                 const std::vector<const store::Record*>& finalists) const {
  const std::optional<std::uint64_t> index = run_.suggested.default_index;
  if (!index || !run_.criterion.times) return nullptr;
  const Bindings config = run_.space.named(run_.space.at(*index));
  const auto is_default = [&](const store::Record* record) { return record->config == config; };
  if (std::any_of(finalists.begin(), finalists.end(), is_default)) return nullptr;
  const auto found = std::find_if(order.begin(), order.end(), is_default);
  if (found == order.end()) return nullptr;
  const std::vector<std::string>& tainted = (*found)->tainted;
  return std::any_of(tainted.begin(), tainted.end(), measure::changed_process) ? nullptr : *found;
}

bool FinalsPhase::start() {
  begun_ = true;
  if (!run_.options.only.empty() && !run_.options.compare) return false;
  const std::vector<const store::Record*> finalists = finalists_now();
  std::vector<std::string> keys;
  for (const store::Record* record : finalists) keys.push_back(record->key);
  if (!run_.holds_finals() || finalists.size() < 2 || have_met(keys)) return false;
  results_.result().finalists = finalists.size();
  // If a disturbance lasts, repeating the finals would not help.
  const bool clean =
      std::any_of(finalists.begin(), finalists.end(), [](const auto* one) { return one->tainted.empty(); });
  if (!take_stored(keys, clean && !run_.stored.busy() ? store::Tainted::never : store::Tainted::too))
    prepare(finalists, std::move(keys));
  return true;
}

void FinalsPhase::prepare(const std::vector<const store::Record*>& finalists, std::vector<std::string> keys) {
  SharedFinals shared{{}, keys, "finals"};
  // In a fixed order: a process that has read only a part of the finals that another is storing ranks by them.
  std::sort(keys.begin(), keys.end());
  for (const std::string& key : keys) shared.claim += " " + key;
  for (const store::Record* record : finalists) {
    const TrialPtr trial = run_.make_trial(run_.space.index_of(record->config).value(), Trial::Purpose::finalist);
    trial->record.validation = record->validation;
    trial->record.repeatable = record->repeatable;
    trial->record.telemetry.energy_j = record->telemetry.energy_j;  // single launches are too short to measure it
    trial->record.dynamic_shared_bytes = trial->launch.max_shared_bytes();
    shared.finalists.push_back(trial);
  }
  if (run_.remote)
    run_.remote->hold_finals(shared.finalists);
  else if (run_.peers && !run_.peers->take(shared.claim))
    elsewhere_ = std::move(shared);
  else
    for (const TrialPtr& trial : shared.finalists) run_.compiles.start(trial);
}

/// Whether they met in finals of this run, which need not be repeated because another finalist turned out to be wrong.
bool FinalsPhase::have_met(const std::vector<std::string>& keys) const {
  return std::all_of(keys.begin(), keys.end(), [&](const std::string& key) { return passed_.contains(key); });
}

bool FinalsPhase::take_stored(const std::vector<std::string>& keys, store::Tainted tainted,
                              std::int64_t since_unix_ms) {
  std::vector<store::Record> stored = run_.stored.finals_of_keys(keys, tainted, since_unix_ms);
  if (stored.empty()) return false;
  passed_.clear();
  for (store::Record& record : stored) {
    if (!run_.space.index_of(record.config)) continue;  // finalists of a larger space may be among them
    if (record.outcome == Outcome::ok) passed_.insert(record.key);
    results_.add_further(std::move(record));
  }
  ended();
  return true;
}

void FinalsPhase::look_at_peers() {
  if (!elsewhere_) return;
  // Finals of other processes belong to this search, disturbed or not: they are not repeated.
  if (take_stored(elsewhere_->keys, store::Tainted::too, run_.options.peers->began_unix_ms())) {
    elsewhere_.reset();
  } else if (run_.peers->take(elsewhere_->claim)) {
    const SharedFinals left = *std::exchange(elsewhere_, std::nullopt);
    for (const TrialPtr& trial : left.finalists) run_.compiles.start(trial);
  }
}

void FinalsPhase::hold() {
  // In the order of their keys, not of the compilers: the random orders of the rounds use positions.
  std::sort(finalists_.begin(), finalists_.end(),
            [](const TrialPtr& a, const TrialPtr& b) { return a->record.key < b->record.key; });
  std::erase_if(finalists_, [](const TrialPtr& trial) { return trial->record.outcome != Outcome::ok; });
  if (finalists_.size() < 2) return finalists_.clear();
  run_.devices.first().busy = true;
  rounds_ = std::make_unique<FinalsRounds>(run_, finalists_, [this] { finish(); });
  rounds_->start();
}

void FinalsPhase::finish() {
  ++run_.totals.answers;
  run_.devices.first().busy = false;
  run_.totals.device_busy_s += rounds_->busy_s();
  std::vector<std::pair<TrialPtr, std::string>> finalists;
  for (const FinalsRounds::Finalist& finalist : rounds_->finalists())
    finalists.emplace_back(finalist.trial, finalist.log);
  record(finalists, rounds_->taints());
  finalists_.clear();
}

void FinalsPhase::take(const std::vector<TrialPtr>& trials) {
  if (trials.size() < 2) return;
  std::vector<std::pair<TrialPtr, std::string>> finalists;
  std::vector<std::string> taints;
  for (const TrialPtr& trial : trials) {
    finalists.emplace_back(trial, trial->record.log);
    for (const std::string& taint : trial->record.tainted) base::add_once(taints, taint);
  }
  record(finalists, taints);
}

/// Each with the log of its failure.
void FinalsPhase::record(const std::vector<std::pair<TrialPtr, std::string>>& finalists,
                         const std::vector<std::string>& taints) {
  run_.stored.note_taints(taints);
  std::int64_t now_ms = 0;  // the same for all of them: their finals are one measurement
  for (const auto& [trial, log] : finalists)
    now_ms = std::max(now_ms, run_.keeper.next_stamp(store::KeyDigest(trial->record.key)));
  std::string id = run_.options.attempt + "-" + finalists.front().first->record.key.substr(0, 8);
  if (++held_ > 1) id += "-" + std::to_string(held_);
  passed_.clear();
  for (const auto& [trial, log] : finalists) {
    store::Record& record = trial->record;
    if (record.outcome == Outcome::ok && record.samples_ms.empty()) continue;
    record.finals = id;
    record.tainted = taints;
    take(*trial, log, now_ms);
    results_.add_further(std::move(record));
  }
  ended();
}

/// Finals have ended. Whether others follow shows the next start(): configurations that lost against a wrong one, or
/// were not invited because of it, get their turn, and those that a lucky one kept out.
void FinalsPhase::ended() {
  ++ended_;
  met_ = refuted_ ? std::set<std::string>() : passed_;
  begun_ = !std::exchange(refuted_, false) && met_.size() < 2;
  if (met_.size() > 1) race_again();
}

void FinalsPhase::take(Trial& trial, const std::string& log, std::int64_t now_ms) {
  store::Record& record = trial.record;
  record.finals_by = run_.criterion.finals_by();
  record.stage = record.outcome == Outcome::ok             ? "measure"
                 : record.outcome == Outcome::wrong_result ? "validate"
                                                           : "run";
  if (record.outcome == Outcome::ok) {
    record.message.clear();
    record.time_ms = measure::summarize(record.samples_ms);
  } else {
    record.validation.reset();
  }
  record.compile_s = record.compile_cpu_s = 0;
  run_.keeper.stamp(record);
  record.unix_time_ms = now_ms;
  run_.keeper.keep(record, trial.lack);
  run_.observer.on_record(record, log, false);
  if (record.outcome == Outcome::ok) passed_.insert(record.key);
  if (record.outcome != Outcome::wrong_result) return;
  run_.outcomes.refute(record);
  refuted_ = true;
}

}  // namespace xtune::run
