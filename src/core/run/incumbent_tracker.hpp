// The incumbent of a run's race: the best configuration so far, and how long it takes by now.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/measure/race.hpp"
#include "core/record/record.hpp"

namespace xtune::run {

/// Challengers race the fastest clean result so far; where the `top` best are asked for, the slowest of those, so that
/// each of them is measured in full.
///
/// All times here are as the first device of the run would take them: a caller divides what another device measured by
/// its slowness. A device's speed drifts with its temperature and clocks, so the incumbent's time of ten minutes ago is
/// no fair bar. The incumbent is therefore measured again after 40 races (8, where another run measured it: the device
/// may have changed in all but name), where that costs at most a twentieth of the device time that the races took. The
/// new time replaces the old one unless it is tainted.
class IncumbentTracker {
 public:
  /// statistic: of the times that rank.
  IncumbentTracker(measure::Statistic statistic, std::size_t top);

  /// An ok result. index: in the space; slowness: of the device that measured it; stored: by another run.
  void consider(std::uint64_t index, const record::Record& record, double slowness, bool stored);
  /// Whether an ok result of this time would change anything here.
  bool may_lead(double time_ms, bool clean) const;
  /// What a challenger races; nullopt: nothing yet.
  std::optional<measure::Incumbent> bar() const;
  void clear();

  /// A challenger was measured, which took the device busy_s.
  void count_race(double busy_s);
  /// The incumbent's index in the space where it is to be measured again. Asked for once: nullopt until remeasured.
  std::optional<std::uint64_t> take_due();
  /// The configuration with this key was measured again, or failed to be: races are counted from zero again. The
  /// incumbent's first record; null: another configuration is the incumbent by now.
  const record::Record* remeasured(const std::string& key);
  /// What it took this time, for the device busy_s.
  void update(const measure::Summary& time_ms, double busy_s);

 private:
  struct Best {
    std::uint64_t index;
    record::Record record;         ///< its first one
    measure::Incumbent incumbent;  ///< as measured last
    double time_ms;                ///< likewise, by the statistic
    double cost_s;                 ///< of the device, to measure it once more
    bool stored;                   ///< measured by another run
    std::size_t races = 0;         ///< of others since it was measured last
    double busy_s = 0;             ///< of the device meanwhile
    bool asked = false;            ///< its measurement is under way
  };
  const measure::Statistic statistic_;
  const std::size_t top_;
  std::optional<Best> best_;
  std::vector<std::pair<double, measure::Incumbent>>
      leaders_;  ///< the fastest clean ones by the statistic, top_ at most
};

}  // namespace xtune::run
