// The metrics of a spec, and the other names that expressions may use for a measured configuration.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/record/record.hpp"
#include "core/spec/spec.hpp"

namespace xtune::record {

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

}  // namespace xtune::record
