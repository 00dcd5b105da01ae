// Orders the records of finals.
#include "core/record/finals.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "core/measure/finals.hpp"
#include "core/space/bindings_text.hpp"

namespace xtune::record {
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

std::vector<const Record*> finalists_of(const std::vector<const Record*>& ranked, std::size_t most,
                                        const Criterion& criterion) {
  std::vector<const Record*> finalists;
  for (const Record* record : ranked) {
    const Record& first = *ranked.front();
    const bool same_hour = std::abs(record->unix_time_ms - first.unix_time_ms) <= same_hour_ms;
    const double drift = same_hour ? finals_drift : finals_drift_of_days;
    if (criterion.interval(*record).first > criterion.interval(first, drift).second) continue;
    // A time that was disturbed says little against a configuration: it has the place of its value.
    const bool placed = !record->tainted.empty() && first.tainted.empty();
    const auto place = std::find_if(finalists.begin(), finalists.end(), [&](const Record* other) {
      return placed && criterion.of(*other) > criterion.of(*record);
    });
    finalists.insert(place, record);
  }
  if (finalists.size() > most) finalists.resize(most);
  return finalists;
}

std::vector<std::string> finals_of(const std::vector<const Record*>& records, const std::vector<std::string>& keys,
                                   Tainted tainted) {
  struct Held {
    std::set<std::string_view> keys, right;  ///< right: without configurations that were found wrong
    std::int64_t unix_time_ms = 0;
    bool clean = true;
  };
  std::map<std::string, Held> held;
  for (const Record* record : records) {
    if (record->finals.empty()) continue;
    Held& one = held[record->finals];
    one.keys.insert(record->key);
    if (record->outcome != Outcome::wrong_result) one.right.insert(record->key);
    one.clean = one.clean && record->tainted.empty();
    one.unix_time_ms = std::max(one.unix_time_ms, record->unix_time_ms);
  }
  const std::set<std::string_view> wanted(keys.begin(), keys.end());
  std::vector<std::tuple<bool, std::int64_t, std::string>> found;
  for (const auto& [id, one] : held)
    if ((one.clean || tainted == Tainted::too) && (one.keys == wanted || one.right == wanted))
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
  for (const std::size_t i : places) order_.push_back(records[i]);
}

std::vector<std::pair<const Record*, FinalsRatio>> FinalsResult::ratios() const {
  std::vector<std::pair<const Record*, FinalsRatio>> result;
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

}  // namespace xtune::record
