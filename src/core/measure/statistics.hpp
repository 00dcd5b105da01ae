// Summary statistics of a series of samples, when to stop sampling, and other facts about a series. Pure.
#pragma once

#include <cstddef>
#include <span>

#include "core/spec/spec.hpp"

namespace xtune::measure {

/// Whether a kernel can have taken this long: from a picosecond to about thirty years. Zero, NaN and what a broken
/// timer or program reports are not times.
constexpr bool is_time(double time_ms) noexcept { return time_ms >= 1e-9 && time_ms <= 1e12; }
/// For messages: what is_time accepts.
inline constexpr const char* possible_times = "from 1e-9 ms to 1e12 ms";

/// All times in the unit of the samples.
struct Summary {
  std::size_t count = 0;
  double min = 0, q1 = 0, median = 0, q3 = 0, mean = 0,
         max = 0;    ///< quartiles interpolate linearly (Hyndman and Fan's type 7)
  double noise = 0;  ///< relative spread: (q3 - q1) / median; 0 where the median is 0
  double low = 0,
         high = 0;  ///< 95 % confidence interval of the median by order statistics (binomial); see median_interval_rank
  std::size_t outliers = 0;  ///< samples beyond Tukey's fences; see is_outlier
  double inlier_mean = 0;    ///< the mean of the others; mean where none is an outlier
};

/// The confidence interval of the median of count samples is from the rank-th smallest to the rank-th largest (rank
/// counts from 1), for any distribution: the number of samples below the median is binomial(count, 1/2). The rank is
/// the largest with coverage >= 95 %. Below 6 samples there is no such rank, and the interval is the whole range (rank
/// 1; 93.75 % at 5, 50 % at 2). Source: H. A. David and H. N. Nagaraja, Order Statistics, 3rd ed. (2003), section 7.1.
/// count = 0 gives 0.
std::size_t median_interval_rank(std::size_t count);

/// The same for an interval that misses the median on either side with a probability of up to `tail`; 0 if there is no
/// such rank. count <= 1000.
std::size_t interval_rank(std::size_t count, double tail);

/// Whether a sample is more than 1.5 times the distance of the quartiles below the first or above the third one: beyond
/// the inner fences of J. W. Tukey, Exploratory Data Analysis (1977), section 2D. Samples that differ from the nearer
/// quartile by up to 0.1 % of the median are none: a coarse timer gives most samples one value, and all quartiles too.
bool is_outlier(double sample, const Summary& summary) noexcept;

/// The summary of all samples multiplied by `factor`.
Summary scaled(Summary summary, double factor) noexcept;

/// An empty series gives zeros. Throws std::invalid_argument for a sample that is not finite, which is an error of the
/// timer.
Summary summarize(std::span<const double> samples);
using spec::Statistic;
double statistic(const Summary& summary, Statistic which) noexcept;

struct StoppingRule {
  int min_rep = 7, rep = 50;
  double min_time_ms = 0, max_time_ms = 200;  ///< sums of the samples
  double noise = 0.005;                       ///< stop when (high - low) / 2 / median falls below
};

/// steady: the median is known precisely enough; enough: rep samples; out_of_time: max_time_ms of samples, or the
/// budget is spent (the latter only from measure_series); beaten: lost its race (only from measure_series).
enum class Stop { go_on, steady, enough, out_of_time, beaten };
const char* to_string(Stop stop) noexcept;

/// Decides by the samples so far; never stops before min_rep except at rep. Beyond 64 samples the noise is checked only
/// occasionally, so that sorting a long series repeatedly does not take longer than the kernel.
Stop should_stop(std::span<const double> samples_ms, const StoppingRule& rule);

/// 0 means unknown for every member. Power, energy and temperature are those of the whole device.
struct Telemetry {
  double clock_mhz = 0;      ///< of the compute units: the median of readings right after each sample
  double temperature_c = 0;  ///< at the end of the series
  double power_w = 0;        ///< during repeated runs of the kernel if energy_j is known, else at the end of the series
  double energy_j = 0;       ///< of one launch; measured on demand ([measure] energy_ms)
  double overhead_ms = 0;    ///< timer overhead that was subtracted from each launch
  int launches = 1;          ///< in each sample, which is their mean
};

}  // namespace xtune::measure
