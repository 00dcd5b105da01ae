// The metrics of a spec, and what else expressions may name of a measured configuration.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/record/record.hpp"
#include "core/spec/spec.hpp"

namespace xtune::record {

/// Problem, configuration and device of a record, time_ms and time_s, the median of each metric that its program
/// reported, and those of quantity_names() that are known and whose names the spec does not use itself.
Bindings measured_names(const Record& record, double time_ms);

/// What the header of metrics_of says.
std::vector<std::string> metric_names(const spec::Spec& spec);

/// What the program reports, then [metrics], in the spec's order, evaluated over these names at the spec's statistic; a
/// metric that cannot be evaluated (say, a division by zero) is NaN.
std::vector<std::pair<std::string, double>> metrics_of(const spec::Spec& spec, const Record& record);

/// An expression as a number; NaN where it has none.
double number_of(const spec::Text& expression, const Bindings& names);

}  // namespace xtune::record
