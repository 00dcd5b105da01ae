// Paired comparison of finalists.
#include "core/measure/finals.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/random.hpp"

namespace xtune::measure {
namespace {

using Times = std::vector<double>;

struct Ratio {
  double low = 0, high = 0;  // of the median
  double behind = 1;         // by the statistic
  bool sound = false;        // low..high has the required confidence
};

double statistic_of(std::span<const double> values, Statistic by) { return statistic(summarize(values), by); }

Ratio ratio_of(std::span<const double> rival, std::span<const double> fastest, Statistic by) {
  const std::size_t both = std::min(rival.size(), fastest.size());
  rival = rival.first(both);
  fastest = fastest.first(both);
  Times ratios;
  for (std::size_t i = 0; i < both; ++i)
    if (fastest[i] > 0) ratios.push_back(rival[i] / fastest[i]);
  if (ratios.empty()) return {1, 1, 1, false};  // a timer that shows nothing shows no difference
  std::sort(ratios.begin(), ratios.end());
  const std::size_t rank = interval_rank(ratios.size(), finals_tail);
  const std::size_t from = std::max<std::size_t>(rank, 1);
  Ratio ratio{ratios[from - 1], ratios[ratios.size() - from], 1, rank > 0 && ratios.size() >= finals_least_rounds};
  if (by == Statistic::median)
    ratio.behind = statistic_of(ratios, by);
  else if (const double least = statistic_of(fastest, by); least > 0)
    ratio.behind = statistic_of(rival, by) / least;
  return ratio;
}

/// As numbers whose ratios can be compared; empty if that is not possible.
std::vector<Times> positive(std::span<const Times> values) {
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

FinalsVerdict judge_finals(std::span<const Times> values, Statistic by) {
  FinalsVerdict verdict;
  verdict.standing.assign(values.size(), Standing::out);
  verdict.certain.assign(values.size(), false);
  std::size_t rounds = 0;
  for (const Times& series : values) rounds = std::max(rounds, series.size());
  if (rounds == 0) return verdict;
  const std::vector<Times> compared = positive(values);
  for (std::size_t i = 0; i < values.size(); ++i)
    if (!values[i].empty()) verdict.standing[i] = Standing::tied;
  if (compared.empty()) return verdict;
  const std::size_t fastest = fastest_of(compared, rounds, by);
  verdict.decided = true;
  for (std::size_t i = 0; i < compared.size(); ++i) {
    if (compared[i].empty()) continue;
    const Ratio ratio = ratio_of(compared[i], compared[fastest], by);
    const bool near = ratio.behind <= 1 + finals_tie;
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
