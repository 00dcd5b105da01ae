// The race against the incumbent: when a configuration has lost, so that measuring it further is wasted. Pure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "core/measure/statistics.hpp"

namespace xtune::measure {

/// The best configuration so far, as a challenger meets it. In ms.
struct Incumbent {
  double median_ms = 0;
  double q3_ms = 0;  ///< third quartile
};

/// Of a measurement whose time, by the statistic that ranks, is ranks_ms. A mean may lie beyond the third quartile, and
/// nobody is beaten by less than what ranks.
inline Incumbent incumbent_of(const Summary& time_ms, double ranks_ms) {
  return {time_ms.median, std::max(time_ms.q3, ranks_ms)};
}

/// The same on a device that takes `factor` times as long.
inline Incumbent scaled(const Incumbent& incumbent, double factor) {
  return {incumbent.median_ms * factor, incumbent.q3_ms * factor};
}

/// How rough a device has shown itself to be: by how much, in relation, launches exceed the median of their own series.
class Roughness {
 public:
  /// least: no smaller value is believed.
  explicit Roughness(double least = 0) : least_(least) {}
  /// median_ms: of the series. Samples taken before it was warmed up may be learned from as well.
  void learn(std::span<const double> samples_ms, double median_ms);
  /// One launch in forty exceeds its median by more. 0.5, if not more, until 64 launches have been seen; of the last
  /// 1024.
  double value() const;

 private:
  double least_;
  std::vector<double> excess_;  ///< a ring
  std::size_t next_ = 0;
};

/// Decides on a challenger's launches in the order taken. Only the fastest of them speaks, as noise of a device adds
/// time and hardly ever takes it away: a challenger is dropped when even that one took longer than the incumbent's
/// third quartile by a margin that falls with the number of launches, and grows with the device's roughness r,
///   2 launches  5 %, or 1.5 r where that is more
///   3 launches  3 %, or 1.3 r
///   5 launches  1.5 %, or 1.2 r
///   10 launches 0.5 %
/// and at every later launch. A single launch never decides: whatever may have interrupted it. NVBench calls
/// [min, q3] a measurement's interval; here they are set against each other. A dropped configuration's samples are a
/// lower bound of its time, not a failure.
class Race {
 public:
  /// Without an incumbent (or with one whose time is no positive number) nobody loses.
  Race() = default;
  Race(const std::optional<Incumbent>& incumbent, double roughness);

  bool on() const noexcept { return incumbent_.has_value(); }
  /// first_ms: of the launch before the samples, however it was timed; 0: not timed. It counts where it took a
  /// millisecond, beside which what loading and launching may add to it is small.
  bool lost(std::span<const double> samples_ms, double first_ms = 0) const;

 private:
  std::optional<Incumbent> incumbent_;
  double roughness_ = 0;
};

/// Whether samples that once lost a race still show that the configuration is slower than today's best, another one
/// perhaps: half of the least margin that dropping it took is enough (2.5 %, 1.5 %, 0.75 % over the median, any more
/// than the median), so that a best measured once more revives nobody. What does not stand is measured anew.
bool still_lost(std::span<const double> samples_ms, const Incumbent& best);
/// The same of so many samples, the least of which is min_ms.
bool still_lost(std::size_t samples, double min_ms, const Incumbent& best);

}  // namespace xtune::measure
