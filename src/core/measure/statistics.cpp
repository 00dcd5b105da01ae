// Order statistics of short series.
#include "core/measure/statistics.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/named.hpp"

namespace xtune::measure {

namespace {

double quantile(const std::vector<double>& sorted, double fraction) {
  const double position = fraction * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  const double weight = position - static_cast<double>(below);
  // std::lerp stays between its ends and is exact if they are equal, so quartiles are within the samples' range.
  return std::lerp(sorted[below], sorted[above], weight);
}

double mean_of(std::span<const double> sorted) {
  const double n = static_cast<double>(sorted.size());
  const double mean =
      std::accumulate(sorted.begin(), sorted.end(), 0.0, [n](double sum, double x) { return sum + x / n; });
  return std::clamp(mean, sorted.front(), sorted.back());
}

/// Outliers are at the ends; the quartiles never are among them.
void add_inliers(Summary& summary, std::span<const double> sorted) {
  while (is_outlier(sorted.front(), summary)) sorted = sorted.subspan(1);
  while (is_outlier(sorted.back(), summary)) sorted = sorted.first(sorted.size() - 1);
  summary.outliers = summary.count - sorted.size();
  summary.inlier_mean = summary.outliers == 0 ? summary.mean : mean_of(sorted);
}

// A test costs a sort: beyond 64 samples one test for each 1/16 of growth keeps the total cost of the sorts small.
bool worth_a_look(std::size_t count) {
  if (count <= 64) return true;
  return count % (std::bit_floor(count) / 16) == 0;
}

}  // namespace

std::size_t median_interval_rank(std::size_t count) {
  if (count == 0) return 0;
  if (count > 1000) {
    // 2^-count soon leaves the range of doubles; then the normal approximation is within one rank, and rounding down
    // keeps it safe.
    const double n = static_cast<double>(count);
    return static_cast<std::size_t>(n / 2 - 1.959963984540054 * std::sqrt(n) / 2);
  }
  return std::max<std::size_t>(interval_rank(count, 0.025), 1);
}

std::size_t interval_rank(std::size_t count, double tail) {
  double probability = std::ldexp(1.0, -static_cast<int>(count));  // P(X = k), k = 0
  double below = 0;                                                // P(X < rank)
  std::size_t rank = 0;
  while (below + probability <= tail) {
    below += probability;
    probability *= static_cast<double>(count - rank) / static_cast<double>(rank + 1);
    ++rank;
  }
  return rank;
}

Summary scaled(Summary summary, double factor) noexcept {
  for (double* const value : {&summary.min, &summary.q1, &summary.median, &summary.q3, &summary.mean, &summary.max,
                              &summary.low, &summary.high, &summary.inlier_mean})
    *value *= factor;
  return summary;
}

Summary summarize(std::span<const double> samples) {
  Summary summary;
  if (samples.empty()) return summary;
  for (const double sample : samples)
    if (!std::isfinite(sample)) throw std::invalid_argument("a sample is " + std::to_string(sample) + ", not a time");
  std::vector<double> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());
  summary.count = sorted.size();
  summary.min = sorted.front();
  summary.max = sorted.back();
  summary.q1 = quantile(sorted, 0.25);
  summary.median = quantile(sorted, 0.5);
  summary.q3 = quantile(sorted, 0.75);
  summary.mean = mean_of(sorted);
  if (summary.median != 0) summary.noise = (summary.q3 - summary.q1) / std::abs(summary.median);
  const std::size_t rank = median_interval_rank(sorted.size());
  summary.low = sorted[rank - 1];
  summary.high = sorted[sorted.size() - rank];
  add_inliers(summary, sorted);
  return summary;
}

bool is_outlier(double sample, const Summary& summary) noexcept {
  constexpr double fence = 1.5, resolution = 1e-3;
  const double distance = std::max(fence * (summary.q3 - summary.q1), resolution * std::abs(summary.median));
  return sample < summary.q1 - distance || sample > summary.q3 + distance;
}

double statistic(const Summary& summary, Statistic which) noexcept {
  switch (which) {
    case Statistic::min:
      return summary.min;
    case Statistic::mean:
      return summary.mean;
    case Statistic::inlier_mean:
      return summary.inlier_mean;
    case Statistic::median:
      break;
  }
  return summary.median;
}

const char* to_string(Stop stop) noexcept {
  return base::enum_words<Stop>("go_on", "steady", "enough", "out_of_time", "beaten").of(stop);
}

Stop should_stop(std::span<const double> samples_ms, const StoppingRule& rule) {
  const auto count = samples_ms.size();
  if (count >= static_cast<std::size_t>(std::max(rule.rep, 1))) return Stop::enough;
  if (count < static_cast<std::size_t>(std::max(rule.min_rep, 1))) return Stop::go_on;
  const double total_ms = std::accumulate(samples_ms.begin(), samples_ms.end(), 0.0);
  if (total_ms >= rule.max_time_ms) return Stop::out_of_time;
  if (total_ms < rule.min_time_ms || !worth_a_look(count)) return Stop::go_on;
  const Summary summary = summarize(samples_ms);
  // A median of 0 means that the timer is too coarse: only more samples or the budget end that series.
  if (summary.median > 0 && (summary.high - summary.low) / 2 / summary.median < rule.noise) return Stop::steady;
  return Stop::go_on;
}

}  // namespace xtune::measure
