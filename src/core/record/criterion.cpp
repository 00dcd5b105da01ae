// Evaluates the criterion that ranks records.
#include "core/record/criterion.hpp"

#include <algorithm>

namespace xtune::record {

double Criterion::of(const Record& record) const {
  return at(record, xtune::measure::statistic(record.time_ms, statistic));
}

std::pair<double, double> Criterion::interval(const Record& record, double stretch) const {
  const measure::Summary& time_ms = record.time_ms;
  const double ranks = xtune::measure::statistic(time_ms, statistic);
  // The interval is that of the median; a mean or a minimum may be outside of it.
  const double low = std::min(time_ms.low, ranks), high = std::max(time_ms.high, ranks) * stretch;
  return std::minmax({at(record, low), at(record, ranks), at(record, high)});
}

std::string Criterion::finals_by() const {
  return !score && statistic == measure::Statistic::median
             ? ""
             : std::string(to_string(statistic)) + " " + (score ? objective : "time_ms");
}

bool Criterion::decided_by(const Record& record) const {
  return times && !record.finals.empty() && record.finals_by == finals_by();
}

}  // namespace xtune::record
