// One configuration's series of samples, and its race against the best one so far.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "core/measure/statistics.hpp"
#include "system/clock.hpp"

namespace xtune::measure {

/// The best configuration so far, for a comparison with a challenger. In ms.
struct Incumbent {
  double median_ms = 0;
  double q3_ms = 0;  ///< third quartile
};

/// From a measurement whose ranking statistic is ranks_ms. A mean may be above the third quartile, and a challenger
/// must not lose to a time below the one that ranks.
inline Incumbent incumbent_of(const Summary& time_ms, double ranks_ms) {
  return {time_ms.median, std::max(time_ms.q3, ranks_ms)};
}

/// The same on a device that is slower by `factor`.
inline Incumbent scaled(const Incumbent& incumbent, double factor) {
  return {incumbent.median_ms * factor, incumbent.q3_ms * factor};
}

/// The roughness of a device so far: by how much, relatively, launches exceed the median of their series.
class Roughness {
 public:
  /// least: lower bound for the value.
  explicit Roughness(double least = 0) : least_(least) {}
  /// median_ms: of the series. The samples may include some from before the warm-up.
  void learn(std::span<const double> samples_ms, double median_ms);
  /// One launch in forty exceeds its median by more than this. At least 0.5 until there are 64 launches; over the last
  /// 1024.
  double value() const;

 private:
  double least_;
  std::vector<double> excess_;  ///< ring buffer
  std::size_t next_ = 0;
};

/// Decides by a challenger's launches in the order taken. Only the fastest one counts, as noise of a device adds time
/// and hardly ever takes it away: a challenger is dropped if even that launch took longer than the incumbent's third
/// quartile by a margin that falls with the number of launches, and grows with the device's roughness r,
///   2 launches  5 %, or 1.5 r where that is more
///   3 launches  3 %, or 1.3 r
///   5 launches  1.5 %, or 1.2 r
///   10 launches 0.5 %
/// and at every later launch. A single launch never decides, since it may have been interrupted. NVBench calls [min,
/// q3] a measurement's interval; here the intervals of both are compared. A dropped configuration's samples are a lower
/// bound of its time, not a failure.
class Race {
 public:
  /// Without an incumbent (or if its time is not a positive number) no challenger loses.
  Race() = default;
  Race(const std::optional<Incumbent>& incumbent, double roughness);

  bool on() const noexcept { return incumbent_.has_value(); }
  /// first_ms: of the launch before the samples, with any timer; 0: not timed. It counts if it took at least a
  /// millisecond, since the overhead of loading and launching is then small in comparison.
  bool lost(std::span<const double> samples_ms, double first_ms = 0) const;

 private:
  std::optional<Incumbent> incumbent_;
  double roughness_ = 0;
};

/// Whether samples that once lost a race still show that the configuration is slower than the current best, which may
/// be another one. Half of the minimum margin for dropping it is enough (2.5 %, 1.5 %, 0.75 % over the median, or just
/// more than the median), so that measuring the best once more does not bring lost ones back. If the samples no longer
/// show it, the configuration is measured again.
bool still_lost(std::span<const double> samples_ms, const Incumbent& best);
/// The same for `samples` samples with the minimum min_ms.
bool still_lost(std::size_t samples, double min_ms, const Incumbent& best);

/// The wall clock that one configuration may take. Everything that launches it draws from this one budget: validation,
/// warm-up, samples, the last checks. Single-threaded.
class Budget {
 public:
  /// Begins now. spare_s: part of the limit in which no launch begins, for what follows the last one.
  Budget(system::Clock& clock, double limit_s, double spare_s = 0)
      : clock_(clock), start_ns_(clock.now_ns()), limit_s_(limit_s), spare_s_(spare_s) {}

  double spent_s() const { return static_cast<double>(clock_.now_ns() - start_ns_) * 1e-9; }
  double limit_s() const noexcept { return limit_s_; }
  /// Gives back time that does not count, such as that of the user's check.
  void extend(double seconds) noexcept { limit_s_ += seconds; }
  /// Sets what is kept for the launches and checks at the end.
  void reserve(double seconds) noexcept { reserved_s_ = seconds; }
  /// How many launches that take this long each still fit before what is reserved; up to a million.
  int launches_left(double launch_s) const;

 private:
  system::Clock& clock_;
  std::int64_t start_ns_;
  double limit_s_, spare_s_, reserved_s_ = 0;
};

struct Series {
  std::vector<double> samples_ms;  ///< in the order taken
  Summary summary;                 ///< of samples_ms
  double last_s = 0;               ///< wall-clock time of the last sample, with flushing and launching
  Stop stopped_by = Stop::enough;
};

/// Continues `begun` (by default from its first sample): calls sample_ms until the rule ends the series, another sample
/// does not fit the budget (out_of_time), or the race is lost (beaten). There is at least one sample. first_ms: the
/// launch before the samples, for the race. Exceptions of sample_ms pass through.
Series measure_series(const std::function<double()>& sample_ms, const StoppingRule& rule, const Budget& budget,
                      const Race& race = {}, double first_ms = 0, Series begun = {});

/// How a configuration is launched.
struct Launching {
  std::function<double()> sample_ms;
  std::function<void(int)> warm_up;  ///< launches this many times; called once, before a whole series
  int warmup = 0;                    ///< number of launches before a whole series
  double first_ms = 0;               ///< of the first launch; 0: not timed
  double first_s = 0;                ///< wall-clock time of the first launch
};

/// The series of a challenger. If it loses within three samples, there is no warm-up. Otherwise those samples count as
/// warm-up launches, its series starts from scratch, and the device's roughness is learned from all of them. Without an
/// incumbent there is no race. A configuration for which the budget allows no warm-up before min_rep samples has none,
/// and every sample counts.
Series measure_challenger(const Launching& launching, const StoppingRule& rule, const Budget& budget,
                          const std::optional<Incumbent>& incumbent, Roughness& roughness);

}  // namespace xtune::measure
