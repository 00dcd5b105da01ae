// The metrics of a spec, for a record.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/record/record.hpp"
#include "core/spec/spec.hpp"

namespace xtune {

/// [metrics] in the spec's order, evaluated over the record's problem, configuration and device with time_ms and
/// time_s; a metric that cannot be evaluated (say, a division by zero) is NaN.
std::vector<std::pair<std::string, double>> metrics_of(const Spec& spec, const Record& record);

}  // namespace xtune
