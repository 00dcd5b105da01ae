// The phases of a kernel's tuning.
#include "tools/kokkos/online_tuner.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/measure/finals.hpp"
#include "core/measure/statistics.hpp"

namespace xtune::kokkos_tools {
namespace {

/// The first call pays for page faults and the like.
constexpr std::size_t warm_up_calls = 1;
/// A first launch that takes this many times as long as the best ends a try: each further one would cost as much.
constexpr double hopeless = 5;
constexpr double fair_roughness = 0.05;

double median_of(std::span<const double> samples_ms) { return measure::summarize(samples_ms).median; }

}  // namespace

/// The space, the strategy, and the best measured configurations.
struct OnlineTuner::Search {
  space::Space space;
  std::unique_ptr<search::Strategy> strategy;
  std::uint64_t tried = 0;                      ///< by this process and others
  std::map<std::uint64_t, double> ratios = {};  ///< of the median times to the default's; infinite: lost or failed
  std::vector<std::uint64_t> known_best = {};   ///< to be measured first, the best one last
  std::vector<double> default_samples_ms = {};
  std::size_t warm_up = 0;
  std::optional<measure::Incumbent> incumbent = {};  ///< the fastest so far, which may be the default
};

struct OnlineTuner::Finals {
  std::vector<Choice> members;  ///< the default is the first
  std::vector<std::vector<double>> samples_ms;
  std::vector<bool> stays;
  std::vector<std::size_t> order = {};
  std::size_t place = 0, round = 0;
  bool verifies = false;  ///< of a known winner: if it loses, the search goes on
};

OnlineTuner::OnlineTuner(space::Space space, TunerSettings settings, const Known& known, std::function<double()> now_ms)
    : settings_(std::move(settings)), now_ms_(std::move(now_ms)), search_(new Search{std::move(space), nullptr}) {
  learn(known);
  if (known.winner) {
    best_ = known.winner;
    begin_finals({std::nullopt, known.winner});
    finals_->verifies = true;
  }
}

OnlineTuner::~OnlineTuner() = default;

const space::Space& OnlineTuner::space() const noexcept { return search_->space; }

void OnlineTuner::learn(const Known& known) {
  if (phase_ == Phase::decided) return;
  if (!search_->strategy)
    search_->strategy = search::make_strategy(settings_.strategy, search_->space, settings_.seed,
                                              std::max<std::uint64_t>(settings_.evals, 1));
  for (const search::Observation& each : known.observations) {
    if (each.index >= search_->space.size() || search_->ratios.contains(each.index)) continue;
    search_->strategy->observe(each);
    ++search_->tried;
    search_->ratios.emplace(each.index, each.outcome == Outcome::ok ? each.time_ms : INFINITY);
  }
}

/// Configurations that are faster than the default, best first.
std::vector<std::uint64_t> OnlineTuner::faster_ones() const {
  std::vector<std::pair<double, std::uint64_t>> ranked;
  for (const auto& [index, ratio] : search_->ratios)
    if (ratio < 1) ranked.emplace_back(ratio, index);
  std::sort(ranked.begin(), ranked.end());
  std::vector<std::uint64_t> indices;
  for (const auto& [ratio, index] : ranked)
    if (indices.size() < finalists) indices.push_back(index);
  return indices;
}

OnlineTuner::Answer OnlineTuner::next(bool may_measure) {
  if (phase_ == Phase::decided) return {best_};
  if (may_measure && !measuring_)
    if (const auto choice = try_next()) {
      measuring_ = choice;
      return {*choice, true};
    }
  if (phase_ == Phase::decided) return {best_};
  total_ms_ += best_ms();
  return {best_};
}

/// The next choice to measure; nullopt: none now.
std::optional<Choice> OnlineTuner::try_next() {
  if (phase_ == Phase::baseline) return Choice();
  if (phase_ == Phase::search) {
    if (candidate_) return candidate_->choice;
    if (lost_ms_ > settings_.share * total_ms_) return std::nullopt;
    if (const Choice proposed = propose()) {
      candidate_ = Finding{proposed};
      return proposed;
    }
    std::vector<Choice> members{std::nullopt};
    for (const std::uint64_t index : faster_ones()) members.emplace_back(index);
    begin_finals(std::move(members));
  }
  if (phase_ != Phase::finals) return std::nullopt;
  return finals_->members[finals_->order[finals_->place]];
}

/// The next configuration of the search; nullopt: there is none.
Choice OnlineTuner::propose() {
  if (!search_->known_best.empty()) {
    const std::uint64_t index = search_->known_best.back();
    search_->known_best.pop_back();
    return index;
  }
  if (search_->tried >= settings_.evals) return std::nullopt;
  const double start_ms = now_ms_();
  std::vector<std::uint64_t> proposed;
  do proposed = search_->strategy->propose(1);
  while (!proposed.empty() && search_->ratios.contains(proposed.front()));
  lost_ms_ += std::max(0.0, now_ms_() - start_ms);
  if (proposed.empty()) return std::nullopt;
  ++search_->tried;
  return proposed.front();
}

void OnlineTuner::observe(double time_ms) {
  if (!measuring_ || !std::isfinite(time_ms) || time_ms <= 0) return forget();
  const Choice choice = *measuring_;
  measuring_.reset();
  total_ms_ += time_ms;
  if (phase_ == Phase::baseline) return observe_default(time_ms);
  if (phase_ == Phase::finals) return observe_final(time_ms);
  if (candidate_ && candidate_->choice == choice) observe_candidate(time_ms);
}

void OnlineTuner::forget() { measuring_.reset(); }

void OnlineTuner::observe_default(double time_ms) {
  if (search_->warm_up++ < warm_up_calls) return;
  std::vector<double>& taken = search_->default_samples_ms;
  taken.push_back(time_ms);
  if (taken.size() < samples) return;
  default_ms_ = median_of(taken);
  findings_.push_back({std::nullopt, false, false, taken});
  begin_search();
}

void OnlineTuner::begin_search() {
  search_->incumbent = measure::incumbent_of(measure::summarize(search_->default_samples_ms), default_ms_);
  best_.reset();
  phase_ = Phase::search;
  search_->known_best = faster_ones();
  std::reverse(search_->known_best.begin(), search_->known_best.end());
  if (!settings_.explore || search_->space.size() < 2) decide(std::nullopt, default_ms_);
}

void OnlineTuner::observe_candidate(double time_ms) {
  std::vector<double>& taken = candidate_->samples_ms;
  taken.push_back(time_ms);
  const measure::Incumbent& incumbent = *search_->incumbent;
  lost_ms_ += std::max(0.0, time_ms - incumbent.median_ms);
  if (taken.size() == 1 && time_ms > hopeless * incumbent.q3_ms) return end_candidate(true);
  if (measure::Race(incumbent, fair_roughness).lost(taken)) return end_candidate(true);
  if (taken.size() >= samples) end_candidate(false);
}

void OnlineTuner::end_candidate(bool beaten) {
  Finding finding = std::move(*candidate_);
  candidate_.reset();
  finding.beaten = beaten;
  const measure::Summary time = measure::summarize(finding.samples_ms);
  const std::uint64_t index = *finding.choice;
  if (!search_->ratios.contains(index))
    search_->strategy->observe(
        {index, beaten ? Outcome::pruned : Outcome::ok, (beaten ? time.min : time.median) / default_ms_});
  search_->ratios[index] = beaten ? INFINITY : time.median / default_ms_;
  if (!beaten && time.q3 < search_->incumbent->median_ms) {
    search_->incumbent = measure::incumbent_of(time, time.median);
    best_ = index;
    best_ms_ = time.median;
  }
  findings_.push_back(std::move(finding));
}

void OnlineTuner::begin_finals(std::vector<Choice> members) {
  if (members.size() < 2) return decide(std::nullopt, default_ms_);
  phase_ = Phase::finals;
  const std::size_t count = members.size();
  finals_.reset(
      new Finals{std::move(members), std::vector<std::vector<double>>(count), std::vector<bool>(count, true)});
  std::vector<std::size_t> all(count);
  for (std::size_t i = 0; i < count; ++i) all[i] = i;
  finals_->order = measure::finals_order(std::move(all), settings_.seed, 0);
}

void OnlineTuner::observe_final(double time_ms) {
  Finals& finals = *finals_;
  finals.samples_ms[finals.order[finals.place]].push_back(time_ms);
  if (++finals.place < finals.order.size()) return;
  finals.place = 0;
  ++finals.round;
  const auto verdict = measure::judge_finals(finals.samples_ms);
  std::vector<std::size_t> members;
  for (std::size_t i = 0; i < finals.members.size(); ++i) {
    if (i > 0 && verdict.certain[i] && verdict.standing[i] == measure::Standing::slower) finals.stays[i] = false;
    if (finals.stays[i]) members.push_back(i);
  }
  const bool enough = finals.round >= rounds || (finals.round >= measure::finals_least_rounds && verdict.decided);
  if (!enough && members.size() > 1) {
    finals.order = measure::finals_order(std::move(members), settings_.seed, finals.round);
    return;
  }
  std::size_t winner = 0;
  for (std::size_t i = 1; i < finals.members.size(); ++i)
    if (verdict.standing[i] == measure::Standing::fastest && verdict.standing[0] == measure::Standing::slower &&
        verdict.certain[0])
      winner = i;
  // The default last: a process that reads its record has all of them.
  for (std::size_t i = finals.members.size(); i-- > 0;)
    findings_.push_back({finals.members[i], false, true, finals.samples_ms[i]});
  default_ms_ = median_of(finals.samples_ms[0]);
  if (winner == 0 && finals.verifies && settings_.explore) {
    search_->default_samples_ms = finals.samples_ms[0];
    finals_.reset();
    return begin_search();
  }
  decide(finals.members[winner], median_of(finals.samples_ms[winner]));
}

void OnlineTuner::decide(Choice winner, double time_ms) {
  best_ = winner;
  (winner ? best_ms_ : default_ms_) = time_ms;
  phase_ = Phase::decided;
  finals_.reset();
  search_->strategy.reset();
}

void OnlineTuner::stop() {
  if (phase_ == Phase::decided) return;
  forget();
  if (phase_ == Phase::baseline && !search_->default_samples_ms.empty())
    findings_.push_back({std::nullopt, false, false, search_->default_samples_ms});
  if (candidate_ && !candidate_->samples_ms.empty()) findings_.push_back(*candidate_);
  for (std::size_t i = 0; finals_ && i < finals_->members.size(); ++i)  // too few rounds for a decision
    if (!finals_->samples_ms[i].empty())
      findings_.push_back({finals_->members[i], false, false, finals_->samples_ms[i]});
  decide(best_, best_ms());
}

std::vector<Finding> OnlineTuner::take_findings() { return std::exchange(findings_, {}); }

}  // namespace xtune::kokkos_tools
