// Straight lines through the middles of two series.
#include "core/measure/timer_overhead.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/measure/statistics.hpp"

namespace xtune::measure {
namespace {

constexpr double span_target_ms = 0.15;
constexpr int max_launches = 200;

struct Lengths {
  double shorter, longer;
};

/// The mean of the values within a fifth of the median: outliers do not count, and a mean is finer than the timer's
/// resolution, which a median is not.
double middle(const std::vector<double>& values) {
  const double median = summarize(values).median;
  double sum = 0, count = 0;
  for (const double value : values) {
    if (std::abs(value - median) > 0.2 * median) continue;
    sum += value;
    ++count;
  }
  return count > 0 ? sum / count : median;
}

/// Extrapolates the spans to length 0. The lengths alternate, so that a drift affects both alike.
double at_length_zero(const SpinSpan& span_ms, const Lengths& lengths, int launches, int rounds) {
  std::vector<double> of_shorter, of_longer;
  for (int i = 0; i < rounds; ++i) {
    of_shorter.push_back(span_ms(lengths.shorter, launches));
    of_longer.push_back(span_ms(lengths.longer, launches));
  }
  const double low = middle(of_shorter), high = middle(of_longer);
  const double slope = (high - low) / (lengths.longer - lengths.shorter);
  return low - slope * lengths.shorter;
}

}  // namespace

double kernel_ms(double span_ms, int launches, const TimerOverhead& overhead) noexcept {
  return std::max((span_ms - overhead.of(launches)) / launches, min_sample_ms);
}

TimerOverhead measure_overhead(const SpinSpan& span_ms, double shorter, double longer, int batch, int rounds) {
  const Lengths lengths{shorter, longer};
  const double one = at_length_zero(span_ms, lengths, 1, rounds);
  const double many = at_length_zero(span_ms, lengths, batch, rounds);
  TimerOverhead overhead;
  // Noise may make either negative, but an overhead is not.
  overhead.launch_ms = std::clamp((many - one) / (batch - 1), 0.0, std::max(one, 0.0));
  overhead.event_ms = std::max(one - overhead.launch_ms, 0.0);
  return overhead;
}

double measure_event_overhead(const SpinSpan& span_ms, double shorter, double longer, double launch_ms, int rounds) {
  return std::max(at_length_zero(span_ms, {shorter, longer}, 1, rounds) - launch_ms, 0.0);
}

int launches_per_span(double kernel_ms) noexcept {
  if (!(kernel_ms > 0) || kernel_ms >= span_target_ms) return 1;
  return static_cast<int>(std::min(std::ceil(span_target_ms / kernel_ms), static_cast<double>(max_launches)));
}

}  // namespace xtune::measure
