// What ranks records.
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
  /// Less is better; NaN or infinite: the record cannot be ranked. Empty: the time itself.
  std::function<double(const Record&, double time_ms)> score = {};
  std::string objective = "time_ms";  ///< what is better, in words
  bool times = true;                  ///< whether time counts at all: only then finals have something to decide

  double at(const Record& record, double time_ms) const { return score ? score(record, time_ms) : time_ms; }
  double of(const Record& record) const;
  /// Between which values it lies, the ends of the time's interval and the statistic considered; `stretch` times the
  /// upper end.
  std::pair<double, double> interval(const Record& record, double stretch = 1) const;

  /// "mean time_s * registers": what finals are compared by, which is part of who is invited to them. Empty: the median
  /// of the time.
  std::string finals_by() const;
  /// Whether the record is of finals that decide here.
  bool decided_by(const Record& record) const;
};

}  // namespace xtune::record
