// The race against the incumbent: when a configuration has lost, so that measuring it further is wasted. Pure.
#pragma once

#include <optional>
#include <span>

namespace xtune {

/// The best configuration so far, as a challenger meets it. In ms.
struct Incumbent {
  double median_ms = 0;
  double q3_ms = 0;  ///< third quartile
};

/// The same on a device that takes `factor` times as long.
inline Incumbent scaled(const Incumbent& incumbent, double factor) {
  return {incumbent.median_ms * factor, incumbent.q3_ms * factor};
}

/// Decides on a challenger's samples in the order taken. Only the least of them speaks, as noise of a device adds time
/// and hardly ever takes it away: a challenger is dropped when even its fastest launch is slower than the incumbent by
/// a margin that falls with the number of launches,
///   1 sample   5 times the median, where that sample and the launch before it both took a millisecond at least
///   2 samples  5 times the median
///   3 samples  2 times the median
///   5 samples  1.25 times the third quartile
///   10 samples 1.005 times the third quartile
/// and at every later sample. NVBench calls [min, q3] a measurement's interval; here they are set against each other.
/// A dropped configuration's samples are a lower bound of its time, not a failure.
class Race {
 public:
  /// Without an incumbent (or with one whose time is no positive number) nobody loses.
  Race() = default;
  explicit Race(const std::optional<Incumbent>& incumbent);

  bool on() const noexcept { return incumbent_.has_value(); }
  /// A first launch, however it was timed, that makes warming up a waste: 5 times the median, or twice where it took a
  /// millisecond at least, beside which what warms up is small.
  bool far_slower(double time_ms) const noexcept;
  /// first_ms: of the launch before the samples; 0: not timed.
  bool lost(std::span<const double> samples_ms, double first_ms = 0) const;

 private:
  std::optional<Incumbent> incumbent_;
};

/// Whether samples that once lost a race still show that the configuration is slower than today's best, another one
/// perhaps: half of the margin that dropping it took is enough (3 times, 1.5 times, 1.1 times the median, more than the
/// median), so that a best measured once more revives nobody. What does not stand is measured anew.
bool still_lost(std::span<const double> samples_ms, const Incumbent& best);

}  // namespace xtune
