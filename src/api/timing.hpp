// A summary of samples in the form of the public API: one list of its members for copies and for JSON.
#pragma once

#include "core/measure/statistics.hpp"
#include "xtune/result.hpp"

namespace xtune {

/// Calls visit(name in JSON, member of Summary, member of Timing) for all except the count of samples.
template <class Visit>
void each_time(Visit visit) {
  visit("min_ms", &measure::Summary::min, &Timing::min_ms);
  visit("q1_ms", &measure::Summary::q1, &Timing::q1_ms);
  visit("median_ms", &measure::Summary::median, &Timing::median_ms);
  visit("q3_ms", &measure::Summary::q3, &Timing::q3_ms);
  visit("mean_ms", &measure::Summary::mean, &Timing::mean_ms);
  visit("max_ms", &measure::Summary::max, &Timing::max_ms);
  visit("noise", &measure::Summary::noise, &Timing::noise);
  visit("low_ms", &measure::Summary::low, &Timing::low_ms);
  visit("high_ms", &measure::Summary::high, &Timing::high_ms);
}

inline Timing timing_of(const measure::Summary& summary) {
  Timing timing;
  timing.samples = summary.count;
  each_time([&](const char*, auto from, auto to) { timing.*to = summary.*from; });
  return timing;
}

}  // namespace xtune
