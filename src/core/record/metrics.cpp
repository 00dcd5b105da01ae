// Evaluates metric expressions over records.
#include "core/record/metrics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/measure/statistics.hpp"
#include "core/space/value.hpp"
#include "core/spec/template_text.hpp"
#include "xtune/error.hpp"

namespace xtune::record {

Bindings measured_names(const Record& record, double time_ms) {
  Bindings names = device::device_facts(record.device);
  names.insert(record.problem.begin(), record.problem.end());
  names.insert(record.config.begin(), record.config.end());
  names["time_ms"] = time_ms;
  names["time_s"] = time_ms * 1e-3;
  for (const auto& [name, values] : record.reported)
    if (!values.empty()) names.emplace(name, measure::summarize(values).median);
  const build::ResourceUsage& usage = record.usage;
  if (record.telemetry.energy_j > 0) names.emplace("energy_j", record.telemetry.energy_j);
  if (record.repeatable) names.emplace("repeatable", std::int64_t{record.repeatable->same()});
  if (usage.registers) names.emplace("registers", std::int64_t{*usage.registers});
  if (usage.spilled_bytes) names.emplace("spilled_bytes", *usage.spilled_bytes);
  names.emplace("shared_bytes", shared_bytes(record).value_or(0));
  return names;
}

double number_of(const spec::Text& expression, const Bindings& names) {
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  try {
    const auto lookup = [&](std::string_view name) { return space::find_value(names, name); };
    return space::number_of(spec::evaluate(expression, lookup)).value_or(none);
  } catch (const Error&) {
    return none;
  }
}

std::vector<std::string> metric_names(const spec::Spec& spec) {
  std::vector<std::string> names = spec::reported_names(spec);
  for (const spec::Metric& metric : spec.metrics) names.push_back(metric.name);
  return names;
}

std::vector<std::pair<std::string, double>> metrics_of(const spec::Spec& spec, const Record& record) {
  Bindings names = measured_names(record, measure::statistic(record.time_ms, spec.measure.statistic));
  std::vector<std::pair<std::string, double>> metrics;
  for (const std::string& name : spec::reported_names(spec)) metrics.emplace_back(name, number_of({name, {}}, names));
  const std::vector<double> values = add_metrics(spec, names);
  for (std::size_t i = 0; i < values.size(); ++i) metrics.emplace_back(spec.metrics[i].name, values[i]);
  return metrics;
}

std::vector<double> add_metrics(const spec::Spec& spec, Bindings& names) {
  std::vector<double> values;
  // Stored records of an earlier state of the spec may have other parameters, which code does not expect.
  const bool is_whole = std::all_of(spec.parameters.begin(), spec.parameters.end(),
                                    [&](const space::Parameter& each) { return names.contains(each.name); });
  for (const spec::Metric& metric : spec.metrics) {
    if (!metric.code)
      values.push_back(number_of(metric.expression, names));
    else
      values.push_back(is_whole ? metric.code(names) : std::numeric_limits<double>::quiet_NaN());
    if (!std::isnan(values.back())) names.emplace(metric.name, values.back());
  }
  return values;
}

}  // namespace xtune::record
