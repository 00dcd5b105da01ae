// The criterion by which records are ranked.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "core/record/record.hpp"

namespace xtune::record {

/// A statistic of a record's time, or a score made of it.
struct Criterion {
  // NOLINTNEXTLINE(google-explicit-constructor)
  Criterion(measure::Statistic by = measure::Statistic::median) : statistic(by) {}
  measure::Statistic statistic;
  /// Less is better; NaN or infinity: the record cannot be ranked. Empty: use the time.
  std::function<double(const Record&, double time_ms)> score = {};
  std::string objective = "time_ms";  ///< the objective in words
  bool times = true;                  ///< whether time counts at all: only then do finals make sense

  double at(const Record& record, double time_ms) const { return score ? score(record, time_ms) : time_ms; }
  double of(const Record& record) const;
  /// The range of the value, given the interval of the time and the statistic; `stretch` multiplies the upper end.
  std::pair<double, double> interval(const Record& record, double stretch = 1) const;

  /// "mean time_s * registers": the value that finals compare, which is also a condition for taking part. Empty: the
  /// median of the time.
  std::string finals_by() const;
  /// Whether the record is from finals with this criterion.
  bool decided_by(const Record& record) const;
};

}  // namespace xtune::record
