// Metrics and objectives of a spec over records, and one configuration for several cases.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/spec/spec.hpp"
#include "core/store/best.hpp"
#include "core/store/lookup.hpp"
#include "core/store/record.hpp"

namespace xtune::store {

// The metrics of a spec, and the other names that expressions may use for a measured configuration.

/// Problem, configuration and device of a record, time_ms and time_s, the median of each metric that its program
/// reported, and those of quantity_names() that are known and whose names the spec does not define.
Bindings measured_names(const Record& record, double time_ms);

/// The names of metrics_of, in its order.
std::vector<std::string> metric_names(const spec::Spec& spec);

/// The values that the program reports, then [metrics], in the spec's order, evaluated with these names at the spec's
/// statistic; a metric that cannot be evaluated (for example because of a division by zero) is NaN.
std::vector<std::pair<std::string, double>> metrics_of(const spec::Spec& spec, const Record& record);

/// The value of each of [metrics] with these names, to which those that have a value are added. NaN: no value;
/// a metric in code has none without all parameters. Exceptions of metrics in code pass.
std::vector<double> add_metrics(const spec::Spec& spec, Bindings& names);

/// The value of an expression as a number; NaN if it has none.
double number_of(const spec::Text& expression, const Bindings& names);

// The objective of a spec: values of its goals for a record, their ranking, and the Pareto set of two goals.

/// [objective] of a spec, which must outlive it; minimises time_ms if the spec has none.
class Objective {
 public:
  explicit Objective(const spec::Spec& spec) : spec_(spec) {}

  /// The values of the goals in their order, at the spec's statistic; NaN: no value, because a quantity was not
  /// measured.
  std::vector<double> values(const Record& record) const;
  /// "time_ms", "TFLOPS": the goals' texts.
  std::vector<std::string> names() const;
  const std::vector<spec::ObjectiveSpec::Goal>& goals() const noexcept { return spec_.objective.goals; }

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
  /// below 1e-30 count as 1e-30. NaN: no value.
  double search_score(const Record& record) const;
  /// The same if its times were multiplied by this factor.
  double search_score(const Record& record, double factor) const;

  /// The records, in their order, that are not dominated: no other record is better in one goal without being worse in
  /// the other. Records without a value are omitted.
  std::vector<const Record*> pareto(const std::vector<const Record*>& records) const;

 private:
  std::vector<double> values(const Record& record, double time_ms) const;
  double score(const Record& record, double time_ms) const;
  const spec::Spec& spec_;
};

// One configuration for several cases: how it is chosen.

/// The records of one of the cases. Does not own them.
struct CaseRecords {
  Bindings problem;
  device::DeviceInfo device;
  std::vector<const Record*> records;
};

struct AcrossChoice {
  Bindings config;
  double score = 0;                    ///< geometric mean of the ratios, or their maximum
  std::vector<double> ratios;          ///< by case: its value over the case's best, at least 1
  std::vector<const Record*> records;  ///< by case; pointers to the given records
};

/// Of the configurations that are ok in every case, the one with the minimum score; equal scores are ordered by the
/// configuration's text. A value is Objective::search_score: the time if there is no other objective. nullopt: no
/// configuration passed in all cases.
std::optional<AcrossChoice> choose_across(const Objective& objective, spec::ObjectiveSpec::Across across,
                                          const std::vector<CaseRecords>& cases);

/// The stored records that can be used for a case: of exactly this problem and kind of device, without an obstacle in
/// `rules`, and with a key that fits at least as well as required.
std::vector<const Record*> answering(const std::vector<Record>& stored, const Bindings& problem,
                                     const device::DeviceInfo& device, const LookupRules& rules,
                                     KeyFit worst = KeyFit::holds);

}  // namespace xtune::store
