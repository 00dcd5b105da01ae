// The objective of a spec: values of its goals for a record, their ranking, and the Pareto set of two goals.
#pragma once

#include <string>
#include <vector>

#include "core/record/best.hpp"
#include "core/spec/spec.hpp"

namespace xtune::record {

/// [objective] of a spec, which must outlive it; minimises time_ms if the spec has none.
class Objective {
 public:
  explicit Objective(const spec::Spec& spec) : spec_(spec) {}

  /// The values of the goals in their order, at the spec's statistic; NaN: no value, because a quantity was not
  /// measured.
  std::vector<double> values(const Record& record) const;
  /// "time_ms", "TFLOPS": the goals' texts.
  std::vector<std::string> names() const;

  /// Whether, on this device and for this problem, less time is always better and nothing else counts: there is one
  /// goal that uses only time, problem, device facts (and metrics of them), and is monotonic in time. Only then may a
  /// race prune, as it produces bounds of times.
  bool follows_time(const Bindings& problem, const device::DeviceInfo& device) const;
  /// Whether a goal uses time, or a metric of it. Only then can finals decide, since they measure only times.
  bool names_time() const;

  /// One goal: its value (negated if it is maximised); two: the geometric mean of both, as in search_score, so that a
  /// configuration is better if its gain in one, as a ratio, is larger than its loss in the other. Needs the spec, but
  /// not this object.
  Criterion criterion(const Bindings& problem, const device::DeviceInfo& device) const;

  /// The score for search strategies, which need positive numbers: a value that is maximised as its inverse; values
  /// below 1e-9 count as 1e-9. NaN: no value.
  double search_score(const Record& record) const;

  /// The records, in their order, that are not dominated: no other record is better in one goal without being worse in
  /// the other. Records without a value are omitted.
  std::vector<const Record*> pareto(const std::vector<const Record*>& records) const;

 private:
  std::vector<double> values(const Record& record, double time_ms) const;
  double score(const Record& record, double time_ms) const;
  const spec::Spec& spec_;
};

}  // namespace xtune::record
