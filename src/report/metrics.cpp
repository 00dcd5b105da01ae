// Evaluates metric expressions over records.
#include "report/metrics.hpp"

#include <limits>

#include "core/measure/statistics.hpp"
#include "core/spec/template_text.hpp"
#include "xtune/error.hpp"

namespace xtune {

std::vector<std::pair<std::string, double>> metrics_of(const Spec& spec, const Record& record) {
  Bindings names = device_facts(record.device);
  names.insert(record.problem.begin(), record.problem.end());
  names.insert(record.config.begin(), record.config.end());
  const double time_ms = statistic(record.time_ms, spec.measure.statistic);
  names["time_ms"] = time_ms;
  names["time_s"] = time_ms * 1e-3;
  const auto lookup = [&](std::string_view name) {
    const auto found = names.find(name);
    return found == names.end() ? nullptr : &found->second;
  };
  std::vector<std::pair<std::string, double>> metrics;
  for (const Metric& metric : spec.metrics) {
    double number = std::numeric_limits<double>::quiet_NaN();
    try {
      const Value value = evaluate(metric.expression, lookup);
      if (const auto* real = std::get_if<double>(&value)) number = *real;
      if (const auto* integer = std::get_if<std::int64_t>(&value)) number = static_cast<double>(*integer);
    } catch (const Error&) {
    }
    metrics.emplace_back(metric.name, number);
  }
  return metrics;
}

}  // namespace xtune
