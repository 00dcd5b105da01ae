// What a run tried, in the order of time.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "core/run/tuner.hpp"
#include "core/spec/spec.hpp"

namespace xtune::report {

/// Seconds since the first beginning, pauses between runs left out.
class ActiveTime {
 public:
  /// Of runs: when each began and ended (unix time, ms).
  explicit ActiveTime(std::vector<std::pair<double, double>> intervals_ms);
  /// Of the runs that wrote these records: each from the begin of its first one to the end of its last one.
  static ActiveTime of(const std::vector<const record::Record*>& records);
  double seconds_until(double unix_time_ms) const;

 private:
  std::vector<std::pair<double, double>> merged_;
};

/// [{"config", "outcome", "time_ms", "seconds", "message", "finals"}] of every configuration that was tried and of the
/// finals: time_ms is null without a measurement and the smallest sample of a pruned one; message and finals are left
/// out where there are none.
nlohmann::ordered_json trace_json(const spec::Spec& spec, const run::TuneResult& result);

}  // namespace xtune::report
