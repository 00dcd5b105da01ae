// The incumbent of a run's race: the best configuration so far, and its current time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/measure/race.hpp"
#include "core/record/record.hpp"

namespace xtune::run {

/// Challengers race the fastest clean result so far; if the `top` best are requested, the slowest of those, so that
/// each of them is measured in full.
///
/// All times here are relative to the first device of the run: a caller divides times of another device by its
/// slowness. A device's speed drifts with its temperature and clocks, so a time of the incumbent from ten minutes ago
/// would not be a fair comparison. The incumbent is therefore measured again after 40 races (8, if another run measured
/// it: the device may have changed in all but name), if that costs at most a twentieth of the device time of the races.
/// The new time replaces the old one unless it is tainted.
class IncumbentTracker {
 public:
  /// statistic: the one that ranks.
  IncumbentTracker(measure::Statistic statistic, std::size_t top);

  /// An ok result. index: in the space; slowness: of the device that measured it; stored: measured by another run.
  void consider(std::uint64_t index, const record::Record& record, double slowness, bool stored);
  /// Whether an ok result with this time would change anything here.
  bool may_lead(double time_ms, bool clean) const;
  /// The incumbent for a challenger's race; nullopt: none yet.
  std::optional<measure::Incumbent> bar() const;
  void clear();

  /// A challenger was measured, which used the device for busy_s.
  void count_race(double busy_s);
  /// The incumbent's index in the space if it must be measured again. Returned once: then nullopt until remeasured.
  std::optional<std::uint64_t> take_due();
  /// The configuration with this key was measured again, or that failed: the count of races starts from zero. Returns
  /// the incumbent's first record; null: another configuration is the incumbent by now.
  const record::Record* remeasured(const std::string& key);
  /// The incumbent's new time, and the device time that it cost.
  void update(const measure::Summary& time_ms, double busy_s);

 private:
  struct Best {
    std::uint64_t index;
    record::Record record;         ///< the first one
    measure::Incumbent incumbent;  ///< from the last measurement
    double time_ms;                ///< from the last measurement, by the statistic
    double cost_s;                 ///< device time to measure it once more
    bool stored;                   ///< measured by another run
    std::size_t races = 0;         ///< of others since it was measured last
    double busy_s = 0;             ///< device time since then
    bool asked = false;            ///< its measurement is in progress
  };
  const measure::Statistic statistic_;
  const std::size_t top_;
  std::optional<Best> best_;
  std::vector<std::pair<double, measure::Incumbent>> leaders_;  ///< the fastest clean ones by the statistic, up to top_
};

}  // namespace xtune::run
