// The configurations that a run tried, ordered by time.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "core/run/tuner.hpp"
#include "core/spec/spec.hpp"

namespace xtune::report {

/// Seconds since the first start, without pauses between runs.
class ActiveTime {
 public:
  /// The start and end of each run (unix time, ms).
  explicit ActiveTime(std::vector<std::pair<double, double>> intervals_ms);
  /// The runs that wrote these records: each from the start of its first record to the end of its last one.
  static ActiveTime of(const std::vector<const record::Record*>& records);
  double seconds_until(double unix_time_ms) const;

 private:
  std::vector<std::pair<double, double>> merged_;
};

/// [{"config", "outcome", "time_ms", "seconds", "message", "finals"}] for every configuration that was tried and for
/// the finals: time_ms is null without a measurement and the minimum sample for a pruned one; message and finals are
/// omitted if there are none.
nlohmann::ordered_json trace_json(const spec::Spec& spec, const run::TuneResult& result);

}  // namespace xtune::report
