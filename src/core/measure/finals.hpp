// The finals: which of the best configurations is the fastest, and which tied with it. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/measure/statistics.hpp"

namespace xtune::measure {

/// Finalists are launched in rounds, each of them once a round and in random order, so that a clock that drifts or a
/// neighbour that wakes up touches all alike; they are compared round by round. Of the ratios of two finalists' times
/// the median has a confidence interval by order statistics: the sign test, which asks nothing of the distribution
/// (J. D. Gibbons and S. Chakraborti, Nonparametric Statistical Inference, 5th ed. (2011), section 5.4). An interval
/// misses by either side with probability 0.25 %: with seven rivals, 2 % a look that one is judged wrongly.
inline constexpr double finals_tail = 0.0025;
/// Times that differ less are as good as equal.
inline constexpr double finals_tie = 0.01;
/// Before so many rounds nobody is judged.
inline constexpr std::size_t finals_least_rounds = 10;

enum class Standing {
  fastest,  ///< of least statistic
  equal,    ///< within finals_tie of it: as good an answer
  tied,     ///< looks slower, and that is not proven
  slower,   ///< proven slower, and by more than finals_tie
  out       ///< has no samples: it failed
};

struct FinalsVerdict {
  std::vector<Standing> standing;  ///< by finalist
  std::vector<bool> certain;       ///< by finalist: more rounds would not change it; false for those that are out
  bool decided = false;            ///< certain of all that are in
};

/// values[i][k]: finalist i in round k, less is better: its time, or what an objective makes of it. Series may be
/// shorter than others', of those that left early; the fastest is one of those with the most rounds, of least
/// statistic. A rival is as far behind as the median of its ratios, or as the ratio of both's `statistic` (min,
/// mean) over the rounds that both ran; and it is the sign test that proves it. Where the two disagree (a rival of
/// equal minimum is slower in most rounds) nothing is certain. All out: nobody is fastest. Values all negative (of what
/// is maximised) compare by their inverse. Where some are negative or not finite there are no ratios: all are tied.
FinalsVerdict judge_finals(std::span<const std::vector<double>> values, Statistic by = Statistic::median);

/// The order of one round: the members in random order, the same for the same seed and round.
std::vector<std::size_t> finals_order(std::vector<std::size_t> members, std::uint64_t seed, std::size_t round);

}  // namespace xtune::measure
