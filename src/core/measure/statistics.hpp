// Summary statistics of a series of samples, and when to stop sampling. Pure.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace xtune {

/// All times in the unit of the samples.
struct Summary {
  std::size_t count = 0;
  double min = 0, q1 = 0, median = 0, q3 = 0, mean = 0, max = 0;
  double noise = 0;          ///< relative spread: (q3 - q1) / median
  double low = 0, high = 0;  ///< 95 % confidence interval of the median by order statistics (binomial)
};

/// An empty series gives zeros.
Summary summarize(std::span<const double> samples);
/// "median", "min" or "mean" of a summary.
double statistic(const Summary& summary, std::string_view name);

struct StoppingRule {
  int min_rep = 7, rep = 50;
  double min_time_ms = 0, max_time_ms = 200;
  double noise = 0.005;  ///< stop when (high - low) / 2 / median falls below
};

enum class Stop { go_on, steady, enough, out_of_time };
/// Looks at the samples so far; never stops before min_rep except for none left (rep).
Stop should_stop(std::span<const double> samples_ms, const StoppingRule& rule);

}  // namespace xtune
