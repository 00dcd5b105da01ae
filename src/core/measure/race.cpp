// The margins of the race.
#include "core/measure/race.hpp"

#include <algorithm>
#include <cmath>

namespace xtune {
namespace {

constexpr double absurd = 5;
// What interrupts a single launch (a context switch, a clock that ramps up) lasts no longer than that.
constexpr double longer_than_a_hiccup_ms = 1;

bool is_time(double time_ms) { return std::isfinite(time_ms) && time_ms > 0; }

double least(std::span<const double> samples_ms) { return *std::min_element(samples_ms.begin(), samples_ms.end()); }

}  // namespace

Race::Race(const std::optional<Incumbent>& incumbent) : incumbent_(incumbent) {
  if (incumbent_ && (!is_time(incumbent_->median_ms) || !is_time(incumbent_->q3_ms))) incumbent_.reset();
}

bool Race::far_slower(double time_ms) const noexcept {
  return on() && time_ms > (time_ms >= longer_than_a_hiccup_ms ? 2 : absurd) * incumbent_->median_ms;
}

bool Race::lost(std::span<const double> samples_ms, double first_ms) const {
  if (!on() || samples_ms.empty()) return false;
  const double fastest_ms = least(samples_ms);
  switch (samples_ms.size()) {
    case 1:
      return std::min(fastest_ms, first_ms) > std::max(absurd * incumbent_->median_ms, longer_than_a_hiccup_ms);
    case 2:
      return fastest_ms > absurd * incumbent_->median_ms;
    case 3:
    case 4:
      return fastest_ms > 2 * incumbent_->median_ms;
    default:
      return fastest_ms > (samples_ms.size() < 10 ? 1.25 : 1.005) * incumbent_->q3_ms;
  }
}

bool still_lost(std::span<const double> samples_ms, const Incumbent& best) {
  if (samples_ms.empty() || !is_time(best.median_ms)) return false;
  const std::size_t count = samples_ms.size();
  const double margin = count < 3 ? 3 : count < 5 ? 1.5 : count < 10 ? 1.1 : 1;
  return least(samples_ms) > margin * best.median_ms;
}

}  // namespace xtune
