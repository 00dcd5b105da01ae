// Queries over records: which is fastest.
#include "core/store/best.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "core/measure/finals.hpp"
#include "core/measure/noise_guard.hpp"
#include "core/space/value.hpp"

namespace xtune::store {

// Evaluates the criterion that ranks records.

double Criterion::of(const Record& record) const {
  return at(record, xtune::measure::statistic(record.time_ms, statistic));
}

std::pair<double, double> Criterion::interval(const Record& record, double stretch) const {
  const measure::Summary& time_ms = record.time_ms;
  const double ranks = xtune::measure::statistic(time_ms, statistic);
  // The interval is that of the median; a mean or a minimum may be outside of it.
  const double low = std::min(time_ms.low, ranks), high = std::max(time_ms.high, ranks) * stretch;
  return std::minmax({at(record, low), at(record, ranks), at(record, high)});
}

std::string Criterion::finals_by() const {
  if (!recorded.empty()) return recorded;
  return !score && statistic == measure::Statistic::median
             ? ""
             : std::string(to_string(statistic)) + " " + (score ? objective : "time_ms");
}

bool Criterion::decided_by(const Record& record) const {
  return times && !record.finals.empty() && record.finals_by == finals_by();
}

Criterion recorded_criterion(const Record& newest) {
  Criterion criterion;
  if (newest.objective.empty()) return criterion;
  criterion.recorded = criterion.objective = newest.objective;
  criterion.score = [objective = newest.objective](const Record& record, double) {
    return record.objective == objective && record.score ? *record.score : HUGE_VAL;
  };
  return criterion;
}

// Orders the records of finals.

namespace {

constexpr std::int64_t same_hour_ms = 3'600'000;

/// Breaks ties; the same in every run.
auto preference(const Record& record) {
  const build::ResourceUsage& usage = record.usage;
  const int repeatable = !record.repeatable ? 1 : record.repeatable->same() ? 0 : 2;
  return std::tuple(!record.tainted.empty(), repeatable, usage.spilled_bytes.value_or(0), usage.registers.value_or(0),
                    usage.static_shared_bytes.value_or(0), space::bindings_text(record.config));
}

}  // namespace

double finals_drift_between(const RankFacts& a, const RankFacts& b) {
  const bool same_hour = std::abs(a.unix_time_ms - b.unix_time_ms) <= same_hour_ms;
  return same_hour && a.attempt == b.attempt ? finals_drift : finals_drift_of_days;
}

std::vector<const Record*> finalists_of(const std::vector<const Record*>& ranked, std::size_t most,
                                        const Criterion& criterion) {
  std::vector<const Record*> candidates, finalists;
  std::copy_if(ranked.begin(), ranked.end(), std::back_inserter(candidates), [](const Record* record) {
    return std::none_of(record->tainted.begin(), record->tainted.end(), measure::changed_process);
  });
  if (candidates.empty()) candidates = ranked;
  for (const Record* record : candidates) {
    const Record& first = *candidates.front();
    const double drift = finals_drift_between(RecordAccess::facts(record), RecordAccess::facts(&first));
    if (criterion.interval(*record).first > criterion.interval(first, drift).second) continue;
    // A time that was disturbed says little against a configuration: it has the place of its value.
    const bool placed = !record->tainted.empty() && first.tainted.empty();
    const auto place = std::find_if(finalists.begin(), finalists.end(), [&](const Record* other) {
      return placed && criterion.of(*other) > criterion.of(*record);
    });
    finalists.insert(place, record);
  }
  // A single one may only have been lucky, unless the next one is slower by more than a device changes its speed.
  if (finalists.size() == 1 && candidates.size() > 1 &&
      criterion.interval(*candidates[1]).first <= criterion.interval(*candidates[0], finals_drift_of_days).second)
    finalists.push_back(candidates[1]);
  if (finalists.size() > most) finalists.resize(most);
  return finalists;
}

std::vector<std::string> finals_of(const std::vector<const Record*>& records, const std::vector<std::string>& keys,
                                   Tainted tainted) {
  struct Held {
    std::set<std::string_view> keys;
    std::int64_t unix_time_ms = 0;
    bool clean = true;
  };
  std::map<std::string, Held> held;
  for (const Record* record : records) {
    if (record->finals.empty()) continue;
    Held& one = held[record->finals];
    one.keys.insert(record->key);
    one.clean = one.clean && record->tainted.empty();
    one.unix_time_ms = std::max(one.unix_time_ms, record->unix_time_ms);
  }
  const std::set<std::string_view> wanted(keys.begin(), keys.end());
  std::vector<std::tuple<bool, std::int64_t, std::string>> found;
  for (const auto& [id, one] : held)
    if ((one.clean || tainted == Tainted::too) &&
        std::includes(one.keys.begin(), one.keys.end(), wanted.begin(), wanted.end()))
      found.emplace_back(!one.clean, -one.unix_time_ms, id);
  std::sort(found.begin(), found.end());
  std::vector<std::string> ids;
  for (auto& [unclean, when, id] : found) ids.push_back(std::move(id));
  return ids;
}

FinalsResult::FinalsResult(const std::vector<const Record*>& records, const Criterion& criterion)
    : statistic_(criterion.statistic) {
  std::vector<std::vector<double>> values;
  std::vector<double> ranks;
  for (const Record* record : records) {
    values.emplace_back();
    if (record->outcome == Outcome::ok)
      for (const double time_ms : record->samples_ms) values.back().push_back(criterion.at(*record, time_ms));
    rounds_ = std::max(rounds_, values.back().size());
    const double rank = values.back().empty() ? 0 : criterion.of(*record);
    ranks.push_back(std::isnan(rank) ? HUGE_VAL : rank);
  }
  const measure::FinalsVerdict verdict = measure::judge_finals(values, criterion.statistic);
  decided_ = verdict.decided;
  const std::vector<std::vector<double>> comparable = measure::comparable_values(values);
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (verdict.standing[i] == measure::Standing::fastest) fastest_ = records[i];
    if (i < comparable.size() && !comparable[i].empty()) values_.emplace(records[i], comparable[i]);
  }
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < records.size(); ++i) {
    places.push_back(i);
    tied_ += verdict.standing[i] < measure::Standing::slower;
  }
  const auto group = [&](std::size_t i) {
    // Resources decide only among equals: a configuration that was merely not proven slower must not win by resources.
    return std::max(verdict.standing[i], measure::Standing::equal);
  };
  std::sort(places.begin(), places.end(), [&](std::size_t a, std::size_t b) {
    if (group(a) != group(b)) return group(a) < group(b);
    const bool by_rank = group(a) == measure::Standing::tied || group(a) == measure::Standing::slower;
    return std::tuple(by_rank ? ranks[a] : 0, preference(*records[a])) <
           std::tuple(by_rank ? ranks[b] : 0, preference(*records[b]));
  });
  // Where times scatter, the medians and the round-by-round ratios may disagree about a finalist: the answer is one
  // that no other beats by more than a tie, or else by the least.
  const auto least_ratio = [&](std::size_t i) {
    double least = 1;
    for (const std::vector<double>& other : comparable)
      if (const auto paired = measure::paired_ratio(other, comparable[i]); paired.rounds > 0)
        least = std::min(least, measure::behind(other, comparable[i], paired, statistic_));
    return least;
  };
  const auto equals =
      std::find_if(places.begin(), places.end(), [&](std::size_t i) { return group(i) > measure::Standing::equal; });
  if (!comparable.empty() && equals - places.begin() > 1) {
    auto answer =
        std::find_if(places.begin(), equals, [&](std::size_t i) { return least_ratio(i) >= 1 - measure::finals_tie; });
    if (answer == equals)
      answer = std::max_element(places.begin(), equals,
                                [&](std::size_t a, std::size_t b) { return least_ratio(a) < least_ratio(b); });
    std::rotate(places.begin(), answer, answer + 1);
  }
  for (const std::size_t i : places) order_.push_back(records[i]);
}

Settled<const Record*> FinalsResult::ratios() const {
  Settled<const Record*> result;
  for (const Record* record : order_) {
    const std::vector<double>& first = order_.front()->samples_ms;
    const measure::PairedRatio paired = measure::paired_ratio(record->samples_ms, first);
    const double value = measure::behind(record->samples_ms, first, paired, statistic_);
    result.emplace_back(record, FinalsRatio{value, std::min(paired.low, value), std::max(paired.high, value),
                                            tied(*record), paired.rounds});
  }
  return result;
}

double FinalsResult::drift() const {
  std::vector<std::vector<double>> times;
  for (const Record* record : order_)
    if (record->outcome == Outcome::ok) times.push_back(record->samples_ms);
  return measure::finals_drift(times);
}

std::optional<measure::PairedRatio> FinalsResult::ratio_to_fastest(const Record& record) const {
  const auto own = values_.find(&record), best = values_.find(fastest_);
  if (own == values_.end() || best == values_.end()) return std::nullopt;
  const measure::PairedRatio ratio = measure::paired_ratio(own->second, best->second);
  return ratio.rounds > 0 ? std::optional(ratio) : std::nullopt;
}

bool FinalsResult::tied(const Record& record) const {
  const auto end = order_.begin() + static_cast<std::ptrdiff_t>(tied_);
  return std::find(order_.begin(), end, &record) != end;
}

double RecordRules::time(const Record* record) const {
  if (record->outcome == Outcome::pruned) return record->time_ms.min;
  return measure::statistic(record->time_ms, criterion.statistic);
}

double RecordRules::time_as_taken(const Record* record) const {
  if (record->outcome == Outcome::pruned || record->samples_ms.empty()) return time(record);
  return measure::statistic(measure::summarize(record->samples_ms), criterion.statistic) / record->slowness;
}

double RecordRules::score(const Record* record, double time_ms) const {
  return record->time_ms.count == 0 ? HUGE_VAL : criterion.at(*record, time_ms);
}

Settled<const Record*> RecordRules::settled(const std::vector<const Record*>& met) const {
  return FinalsResult(met, criterion).ratios();
}

Standings::Standings(const RecordPointers& records, const Criterion& criterion)
    : rules_{criterion}, ranking_(rank_records<RecordAccess>(records, rules_)) {
  for (const Record* other : order())
    if (const auto compared = ratio(*other); other != &best() && compared && compared->tied) ties_.push_back(other);
}

double Standings::factor(const Record& record) const {
  const double own_ms = rules_.time(&record);
  return empty() || !(own_ms > 0) ? 1 : ranking_.scale->time(&record) / own_ms;
}

std::optional<Ratio> Standings::ratio(const Record& record) const {
  if (empty() || record.time_ms.count == 0) return std::nullopt;
  const double best_ms = rules_.time(&best()), time_ms = ranking_.scale->time(&record);
  if (&record == &best()) return Ratio{1, 1, 1, ranking_.scale->met(&record) != nullptr, true};
  if (!(best_ms > 0)) return std::nullopt;
  const bool may_tie = record.tainted.empty() == best().tainted.empty() && record.config != best().config;
  if (const FinalsRatio* const met = ranking_.scale->met(&record))
    return Ratio{met->value, met->low, met->high, true, may_tie && met->tied};
  // The intervals of both measurements, each relative to its own time, which the scale does not change.
  const Record& beside = *ranking_.scale->beside_anchor(&record);
  const Record* const* const anchor = ranking_.scale->anchor(&beside);
  const auto reach = [&](const Record& one) {
    const double ranks = rules_.time(&one);
    return std::pair(std::min(one.time_ms.low / ranks, 1.0), std::max(one.time_ms.high / ranks, 1.0));
  };
  const auto [low, high] = reach(beside);
  const auto [best_low, best_high] = reach(anchor ? **anchor : best());
  const double value = time_ms / best_ms;
  Ratio result{value, value * low / best_high, value * high / best_low, false, false};
  // By the criterion, which may be more than the time.
  const auto score = [&](const Record& one, double ratio) { return rules_.criterion.at(one, best_ms * ratio); };
  const double own = std::min(score(record, result.low), score(record, result.high));
  result.tied = may_tie && record.outcome == Outcome::ok && own <= score(best(), 1);
  return result;
}

double Standings::slowdown() const {
  std::vector<double> factors;
  if (empty()) return 1;
  for (const Record* record : order()) {
    const Record& before = searched(*record);
    if (&before == record || !(rules_.time(&before) > 0)) continue;
    if (record == &best() || ranking_.scale->met(record)) factors.push_back(rules_.time(record) / rules_.time(&before));
  }
  return factors.empty() ? 1 : measure::summarize(factors).median;
}

void put_on_one_scale(const std::vector<Record*>& records, const Standings& standings) {
  std::vector<double> factors;
  for (const Record* record : records) factors.push_back(standings.factor(*record));
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (!standings.empty() && records[i]->reference && standings.best().reference)
      records[i]->reference = standings.best().reference;
    records[i]->time_ms = measure::scaled(records[i]->time_ms, factors[i]);
  }
}

std::optional<Best> best_of(const RecordPointers& records, const Criterion& criterion) {
  const Standings standings(records, criterion);
  if (standings.empty()) return std::nullopt;
  return Best{&standings.best(), standings.ties()};
}

bool same_device(const device::DeviceInfo& a, const device::DeviceInfo& b) {
  return std::tie(a.backend, a.vendor, a.arch, a.name, a.compute_units) ==
         std::tie(b.backend, b.vendor, b.arch, b.name, b.compute_units);
}

std::string group_of(const Record& record) {
  return fmt::format("{}\n{}\n{}\n{}\n{}\n{}", record.kernel, space::bindings_text(record.problem),
                     record.device.backend, record.device.arch, record.device.name, record.device.compute_units);
}

std::vector<const Record*> ranked(const RecordPointers& records, const Criterion& criterion) {
  return rank_records<RecordAccess>(records, RecordRules{criterion}).order;
}

}  // namespace xtune::store
