// What a spec calls better: values of its goals for a record, their ranking, and the Pareto set of two goals.
#pragma once

#include <string>
#include <vector>

#include "core/record/best.hpp"
#include "core/spec/spec.hpp"

namespace xtune::record {

/// [objective] of a spec, which outlives it; time_ms minimised where the spec has none.
class Objective {
 public:
  explicit Objective(const spec::Spec& spec) : spec_(spec) {}

  /// Of the goals in their order, at the spec's statistic; NaN: it has none, as what it names was not measured.
  std::vector<double> values(const Record& record) const;
  /// "time_ms", "TFLOPS": the goals' texts.
  std::vector<std::string> names() const;

  /// Whether, on this device and for this problem, less time is always better and nothing else counts: one goal that
  /// names time, problem, device facts (and metrics of them) alone, and rises or falls with time throughout. Only then
  /// may a race prune, as it knows bounds of times.
  bool follows_time(const Bindings& problem, const device::DeviceInfo& device) const;
  /// Whether a goal names time, or a metric of it. Only then can finals decide, as launches show nothing else.
  bool names_time() const;

  /// One goal: its value (less its sign where it is maximised); two: the geometric mean of both, as search_score has
  /// it, so that a configuration is better when it gains more in one, by ratio, than it loses in the other. Needs the
  /// spec, not this object.
  Criterion criterion(const Bindings& problem, const device::DeviceInfo& device) const;

  /// What search strategies are told, which want positive numbers: a value that is maximised as its inverse; below 1e-9
  /// a value counts as that. NaN: none.
  double search_score(const Record& record) const;

  /// Of the records, in their order, those that no other one beats in one goal without losing in the other. Records
  /// without a value are none of them.
  std::vector<const Record*> pareto(const std::vector<const Record*>& records) const;

 private:
  std::vector<double> values(const Record& record, double time_ms) const;
  double score(const Record& record, double time_ms) const;
  const spec::Spec& spec_;
};

}  // namespace xtune::record
