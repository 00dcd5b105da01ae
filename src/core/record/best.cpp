// Queries over records: which is fastest.
#include "core/record/best.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "core/record/finals.hpp"
#include "core/record/record_access.hpp"

namespace xtune::record {
namespace {

std::vector<const Record*> pointers_to(const std::vector<Record>& records) {
  std::vector<const Record*> pointers;
  for (const Record& record : records) pointers.push_back(&record);
  return pointers;
}

/// The rules of rank_records.
struct RecordRules {
  Criterion criterion;

  double time(const Record* record) const {
    if (record->outcome == Outcome::pruned) return record->time_ms.min;
    return measure::statistic(record->time_ms, criterion.statistic);
  }
  double score(const Record* record, double time_ms) const {
    return record->time_ms.count == 0 ? HUGE_VAL : criterion.at(*record, time_ms);
  }
  bool decided(const Record* record) const { return criterion.decided_by(*record); }
  std::vector<std::pair<const Record*, FinalsRatio>> settled(const std::vector<const Record*>& met) const {
    return FinalsResult(met, criterion).ratios();
  }
};

}  // namespace

struct Standings::State {
  RecordRules rules;
  Ranking<RecordAccess, const Record*, RecordRules> ranking;
  std::vector<const Record*> ties;
};

Standings::Standings(const std::vector<const Record*>& records, const Criterion& criterion)
    : state_(new State{{criterion}, {}, {}}) {
  state_->ranking = rank_records<RecordAccess>(records, state_->rules);
  for (const Record* other : order())
    if (const auto compared = ratio(*other); other != &best() && compared && compared->tied)
      state_->ties.push_back(other);
}

Standings::Standings(const std::vector<Record>& records, const Criterion& criterion)
    : Standings(pointers_to(records), criterion) {}

Standings::Standings(Standings&&) noexcept = default;
Standings& Standings::operator=(Standings&&) noexcept = default;
Standings::~Standings() = default;

const std::vector<const Record*>& Standings::order() const noexcept { return state_->ranking.order; }
bool Standings::by_time() const noexcept { return !state_->rules.criterion.score; }
const std::vector<const Record*>& Standings::ties() const noexcept { return state_->ties; }

double Standings::factor(const Record& record) const {
  const double own_ms = state_->rules.time(&record);
  return empty() || !(own_ms > 0) ? 1 : state_->ranking.scale->time(&record) / own_ms;
}

std::optional<Ratio> Standings::ratio(const Record& record) const {
  if (empty() || record.time_ms.count == 0) return std::nullopt;
  const RecordRules& rules = state_->rules;
  const double best_ms = rules.time(&best()), time_ms = state_->ranking.scale->time(&record);
  if (&record == &best()) return Ratio{1, 1, 1, state_->ranking.scale->met(&record) != nullptr, true};
  if (!(best_ms > 0)) return std::nullopt;
  const bool may_tie = record.tainted.empty() == best().tainted.empty() && record.config != best().config;
  if (const FinalsRatio* const met = state_->ranking.scale->met(&record))
    return Ratio{met->value, met->low, met->high, true, may_tie && met->tied};
  // The intervals of both measurements, each relative to its own time, which the scale does not change.
  const Record& beside = *state_->ranking.scale->beside_anchor(&record);
  const Record* const* const anchor = state_->ranking.scale->anchor(&beside);
  const auto reach = [&](const Record& one) {
    const double ranks = rules.time(&one);
    return std::pair(std::min(one.time_ms.low / ranks, 1.0), std::max(one.time_ms.high / ranks, 1.0));
  };
  const auto [low, high] = reach(beside);
  const auto [best_low, best_high] = reach(anchor ? **anchor : best());
  const double value = time_ms / best_ms;
  Ratio result{value, value * low / best_high, value * high / best_low, false, false};
  // By the criterion, which may be more than the time.
  const auto score = [&](const Record& one, double ratio) { return rules.criterion.at(one, best_ms * ratio); };
  const double own = std::min(score(record, result.low), score(record, result.high));
  result.tied = may_tie && record.outcome == Outcome::ok && own <= score(best(), 1);
  return result;
}

double Standings::slowdown() const {
  std::vector<double> factors;
  if (empty()) return 1;
  for (const Record* record : order()) {
    const Record* const searched = state_->ranking.scale->beside_anchor(record);
    if (searched == record || !(state_->rules.time(searched) > 0)) continue;
    if (record == &best() || state_->ranking.scale->met(record))
      factors.push_back(state_->rules.time(record) / state_->rules.time(searched));
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

std::optional<Best> best_of(const std::vector<const Record*>& records, const Criterion& criterion) {
  const Standings standings(records, criterion);
  if (standings.empty()) return std::nullopt;
  return Best{&standings.best(), standings.ties()};
}

std::optional<Best> best_of(const std::vector<Record>& records, const Criterion& criterion) {
  return best_of(pointers_to(records), criterion);
}

bool same_device(const device::DeviceInfo& a, const device::DeviceInfo& b) {
  return std::tie(a.backend, a.vendor, a.arch, a.name, a.compute_units) ==
         std::tie(b.backend, b.vendor, b.arch, b.name, b.compute_units);
}

std::vector<const Record*> ranked(const std::vector<Record>& records, const Criterion& criterion) {
  return ranked(pointers_to(records), criterion);
}

std::vector<const Record*> ranked(const std::vector<const Record*>& records, const Criterion& criterion) {
  return rank_records<RecordAccess>(records, RecordRules{criterion}).order;
}

}  // namespace xtune::record
