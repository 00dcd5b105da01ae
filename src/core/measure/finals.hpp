// The finals: which of the best configurations is the fastest, and which ones tie with it. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/measure/statistics.hpp"

namespace xtune::measure {

/// Finalists are launched in rounds, each of them once per round and in random order, so that a drifting clock or a
/// busy neighbour affects all alike. They are compared round by round: the median of the ratios of two finalists' times
/// has a confidence interval by order statistics, from the sign test, which makes no assumption about the distribution
/// (J. D. Gibbons and S. Chakraborti, Nonparametric Statistical Inference, 5th ed. (2011), section 5.4). An interval
/// misses on either side with probability 0.25 %: with seven rivals, the probability that one is judged wrongly is 2 %
/// per test.
inline constexpr double finals_tail = 0.0025;
/// Times with a smaller relative difference count as equal.
inline constexpr double finals_tie = 0.01;
/// Minimum number of rounds before a finalist is judged.
inline constexpr std::size_t finals_least_rounds = 10;

enum class Standing {
  fastest,  ///< minimum of the statistic
  equal,    ///< within finals_tie of the fastest: an equally good choice
  tied,     ///< seems slower, but this is not proven
  slower,   ///< proven slower, and by more than finals_tie
  out       ///< has no samples, because it failed
};

struct FinalsVerdict {
  std::vector<Standing> standing;  ///< by finalist
  std::vector<bool> certain;       ///< by finalist: more rounds would not change it; false for those that are out
  bool decided = false;            ///< certain for all finalists that are not out
};

/// values[i][k]: finalist i in round k, less is better: its time, or the value of an objective. Series of finalists
/// that left early may be shorter; the fastest is one of those with the most rounds, with the minimum statistic. The
/// distance of a rival is the median of its ratios, or the ratio of the `statistic` (min, mean) of both over the rounds
/// that both ran; in either case the sign test must prove it. If the two disagree (a rival with an equal minimum is
/// slower in most rounds), nothing is certain. If all are out, there is no fastest. If all values are negative (of a
/// maximised objective), their inverses are compared. If some are negative or not finite there are no ratios: all are
/// tied.
FinalsVerdict judge_finals(std::span<const std::vector<double>> values, Statistic by = Statistic::median);

/// Two finalists compared round by round, over the rounds that both ran.
struct PairedRatio {
  double median = 1;         ///< of the ratios of the rival's time to the other's
  double low = 1, high = 1;  ///< its interval, which misses on either side with probability finals_tail
  std::size_t rounds = 0;    ///< 0: there is nothing to compare
  bool sound = false;        ///< the rounds suffice for that probability; else the interval is the whole range
};
PairedRatio paired_ratio(std::span<const double> rival, std::span<const double> other);

/// By the statistic: the rival's time as a multiple of the other's, over the rounds that both ran. paired: of the same.
double behind(std::span<const double> rival, std::span<const double> other, const PairedRatio& paired, Statistic by);

/// By how much the device changed its speed during the rounds: the time of the last third of them as a multiple of the
/// first third's, all finalists taken together. 1 unless the thirds differ by more than finals_least_drift and their
/// quartiles do not overlap. times[i][k] as in judge_finals.
double finals_drift(std::span<const std::vector<double>> times);
inline constexpr double finals_least_drift = 0.05;

/// Values whose ratios can be compared: times as they are, negative values of a maximised objective inverted. Empty:
/// that is not possible.
std::vector<std::vector<double>> comparable_values(std::span<const std::vector<double>> values);

/// The order of one round: the members in random order, always the same for a seed and round.
std::vector<std::size_t> finals_order(std::vector<std::size_t> members, std::uint64_t seed, std::size_t round);

}  // namespace xtune::measure
