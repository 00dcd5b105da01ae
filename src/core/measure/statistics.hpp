// Summary statistics of a series of samples, and when to stop sampling. Pure.
#pragma once

#include <cstddef>
#include <span>

#include "core/spec/statistic.hpp"

namespace xtune::measure {

/// All times in the unit of the samples.
struct Summary {
  std::size_t count = 0;
  double min = 0, q1 = 0, median = 0, q3 = 0, mean = 0,
         max = 0;    ///< quartiles interpolate linearly (Hyndman and Fan's type 7)
  double noise = 0;  ///< relative spread: (q3 - q1) / median; 0 where the median is 0
  double low = 0,
         high = 0;  ///< 95 % confidence interval of the median by order statistics (binomial); see median_interval_rank
};

/// The confidence interval of the median of count samples runs from the rank-th smallest to the rank-th largest (rank
/// counts from 1), whatever the distribution: the number of samples below the median is binomial(count, 1/2). The rank
/// is the largest with coverage >= 95 %. Below 6 samples none has that, and the interval is the whole range (rank
/// 1; 93.75 % at 5, 50 % at 2). Source: H. A. David and H. N. Nagaraja, Order Statistics, 3rd ed. (2003), section 7.1.
/// count = 0 gives 0.
std::size_t median_interval_rank(std::size_t count);

/// The same for an interval that misses the median by either side with probability `tail` at most; 0 where no rank
/// does. count <= 1000.
std::size_t interval_rank(std::size_t count, double tail);

/// An empty series gives zeros. A sample that is not finite throws std::invalid_argument: it is a fault of the timer.
Summary summarize(std::span<const double> samples);
using spec::Statistic;
double statistic(const Summary& summary, Statistic which) noexcept;

struct StoppingRule {
  int min_rep = 7, rep = 50;
  double min_time_ms = 0, max_time_ms = 200;  ///< sums of the samples
  double noise = 0.005;                       ///< stop when (high - low) / 2 / median falls below
  double max_wall_s = 30;                     ///< of the whole series; measure_series alone looks at it
};

/// steady: the median is known well enough; enough: rep samples; out_of_time: max_time_ms of samples; beaten: lost its
/// race (measure_series alone says so).
enum class Stop { go_on, steady, enough, out_of_time, beaten };
const char* to_string(Stop stop) noexcept;

/// Looks at the samples so far; never stops before min_rep except for none left (rep). Beyond 64 samples the noise is
/// looked at every so often only, so that sorting a long series again and again does not outweigh the kernel.
Stop should_stop(std::span<const double> samples_ms, const StoppingRule& rule);

}  // namespace xtune::measure
