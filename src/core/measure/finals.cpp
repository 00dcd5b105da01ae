// Paired comparison of finalists.
#include "core/measure/finals.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/random.hpp"

namespace xtune::measure {
namespace {

using Times = std::vector<double>;

double statistic_of(std::span<const double> values, Statistic by) { return statistic(summarize(values), by); }

std::size_t fastest_of(std::span<const Times> values, std::size_t rounds, Statistic by) {
  std::size_t fastest = values.size();
  double least = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i].size() < rounds) continue;
    const double own = statistic_of(values[i], by);
    if (fastest < values.size() && own >= least) continue;
    fastest = i;
    least = own;
  }
  return fastest;
}

}  // namespace

double behind(std::span<const double> rival, std::span<const double> other, const PairedRatio& paired, Statistic by) {
  if (by == Statistic::median || paired.rounds == 0) return paired.median;
  const std::size_t both = std::min(rival.size(), other.size());
  const double least = statistic_of(other.first(both), by);
  return least > 0 ? statistic_of(rival.first(both), by) / least : 1;
}

double finals_drift(std::span<const Times> times) {
  std::size_t rounds = 0, common = SIZE_MAX;
  for (const Times& series : times) {
    rounds = std::max(rounds, series.size());
    if (!series.empty()) common = std::min(common, series.size());
  }
  const std::size_t third = rounds / 3;
  if (third < 3) return 1;
  Times medians;  // in the rounds of all
  for (const Times& series : times)
    medians.push_back(series.empty() ? 0 : statistic_of({series.data(), common}, Statistic::median));
  // A round's level: of those that took part, the median time relative to their own median.
  Times levels;
  for (std::size_t round = 0; round < rounds; ++round) {
    Times relative;
    for (std::size_t i = 0; i < times.size(); ++i)
      if (times[i].size() > round && medians[i] > 0) relative.push_back(times[i][round] / medians[i]);
    if (relative.empty()) return 1;
    levels.push_back(statistic_of(relative, Statistic::median));
  }
  const Summary first = summarize({levels.data(), third}), last = summarize({levels.data() + rounds - third, third});
  const double change = first.median > 0 ? last.median / first.median : 1;
  const bool apart = change > 1 ? last.q1 > first.q3 : last.q3 < first.q1;
  return apart && std::abs(change - 1) > finals_least_drift ? change : 1;
}

PairedRatio paired_ratio(std::span<const double> rival, std::span<const double> other) {
  Times ratios;
  for (std::size_t i = 0; i < std::min(rival.size(), other.size()); ++i)
    if (other[i] > 0) ratios.push_back(rival[i] / other[i]);
  if (ratios.empty()) return {};  // a timer that shows nothing shows no difference
  std::sort(ratios.begin(), ratios.end());
  const std::size_t rank = interval_rank(ratios.size(), finals_tail);
  const std::size_t from = std::max<std::size_t>(rank, 1);
  return {statistic_of(ratios, Statistic::median), ratios[from - 1], ratios[ratios.size() - from], ratios.size(),
          rank > 0 && ratios.size() >= finals_least_rounds};
}

std::vector<Times> comparable_values(std::span<const Times> values) {
  std::vector<Times> result(values.begin(), values.end());
  bool any_negative = false, all_negative = true;
  for (const Times& series : values)
    for (const double value : series) {
      if (!std::isfinite(value)) return {};
      any_negative = any_negative || value < 0;
      all_negative = all_negative && value < 0;
    }
  if (!any_negative) return result;
  if (!all_negative) return {};
  for (Times& series : result)
    for (double& value : series) value = -1 / value;
  return result;
}

FinalsVerdict judge_finals(std::span<const Times> values, Statistic by) {
  FinalsVerdict verdict;
  verdict.standing.assign(values.size(), Standing::out);
  verdict.certain.assign(values.size(), false);
  std::size_t rounds = 0;
  for (const Times& series : values) rounds = std::max(rounds, series.size());
  if (rounds == 0) return verdict;
  const std::vector<Times> compared = comparable_values(values);
  for (std::size_t i = 0; i < values.size(); ++i)
    if (!values[i].empty()) verdict.standing[i] = Standing::tied;
  if (compared.empty()) return verdict;
  const std::size_t fastest = fastest_of(compared, rounds, by);
  verdict.decided = true;
  for (std::size_t i = 0; i < compared.size(); ++i) {
    if (compared[i].empty()) continue;
    const PairedRatio ratio = paired_ratio(compared[i], compared[fastest]);
    const bool near = behind(compared[i], compared[fastest], ratio, by) <= 1 + finals_tie;
    verdict.standing[i] = i == fastest    ? Standing::fastest
                          : near          ? Standing::equal
                          : ratio.low > 1 ? Standing::slower
                                          : Standing::tied;
    verdict.certain[i] =
        i == fastest || (ratio.sound && (near ? ratio.high <= 1 + finals_tie : ratio.low > 1 + finals_tie));
    verdict.decided = verdict.decided && verdict.certain[i];
  }
  return verdict;
}

std::vector<std::size_t> finals_order(std::vector<std::size_t> members, std::uint64_t seed, std::size_t round) {
  base::Random random(base::mix64(seed) ^ round);
  for (std::size_t left = members.size(); left > 1; --left) std::swap(members[left - 1], members[random.below(left)]);
  return members;
}

}  // namespace xtune::measure
