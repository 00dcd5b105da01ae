// Paired comparison of finalists.
#include "core/measure/finals.hpp"

#include <algorithm>
#include <utility>

#include "base/random.hpp"
#include "core/measure/statistics.hpp"

namespace xtune {
namespace {

struct Ratio {
  double low = 0, median = 0, high = 0;
  bool sound = false;  // low..high has the confidence that is asked for
};

Ratio ratio_of(std::span<const double> rival_ms, std::span<const double> fastest_ms) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < std::min(rival_ms.size(), fastest_ms.size()); ++i)
    if (fastest_ms[i] > 0) ratios.push_back(rival_ms[i] / fastest_ms[i]);
  if (ratios.empty()) return {1, 1, 1, false};  // a timer that shows nothing shows no difference
  std::sort(ratios.begin(), ratios.end());
  const std::size_t rank = interval_rank(ratios.size(), finals_tail);
  const std::size_t from = std::max<std::size_t>(rank, 1);
  return {ratios[from - 1], summarize(ratios).median, ratios[ratios.size() - from],
          rank > 0 && ratios.size() >= finals_least_rounds};
}

}  // namespace

FinalsVerdict judge_finals(std::span<const std::vector<double>> samples_ms) {
  FinalsVerdict verdict;
  verdict.standing.assign(samples_ms.size(), Standing::out);
  verdict.certain.assign(samples_ms.size(), false);
  std::size_t rounds = 0;
  for (const std::vector<double>& series : samples_ms) rounds = std::max(rounds, series.size());
  if (rounds == 0) return verdict;
  std::size_t fastest = samples_ms.size();
  double least_ms = 0;
  for (std::size_t i = 0; i < samples_ms.size(); ++i) {
    if (samples_ms[i].size() < rounds) continue;
    const double median_ms = summarize(samples_ms[i]).median;
    if (fastest < samples_ms.size() && median_ms >= least_ms) continue;
    fastest = i;
    least_ms = median_ms;
  }
  verdict.decided = true;
  for (std::size_t i = 0; i < samples_ms.size(); ++i) {
    if (samples_ms[i].empty()) continue;
    const Ratio ratio = ratio_of(samples_ms[i], samples_ms[fastest]);
    verdict.standing[i] = i == fastest                     ? Standing::fastest
                          : ratio.median <= 1 + finals_tie ? Standing::equal
                          : ratio.low > 1                  ? Standing::slower
                                                           : Standing::tied;
    verdict.certain[i] = i == fastest || (ratio.sound && (ratio.high <= 1 + finals_tie || ratio.low > 1 + finals_tie));
    verdict.decided = verdict.decided && verdict.certain[i];
  }
  return verdict;
}

std::vector<std::size_t> finals_order(std::vector<std::size_t> members, std::uint64_t seed, std::size_t round) {
  Random random(mix64(seed) ^ round);
  for (std::size_t left = members.size(); left > 1; --left) std::swap(members[left - 1], members[random.below(left)]);
  return members;
}

}  // namespace xtune
