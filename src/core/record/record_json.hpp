// JSON forms of parts of a record, which worker messages and reports use too.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "core/device/device_info.hpp"
#include "core/measure/statistics.hpp"
#include "core/space/value_json.hpp"
#include "core/validate/compare.hpp"

namespace xtune::record {

// All of these are lossless: reading the JSON gives the same value. The readers throw nlohmann's exceptions, or
// Error(io), for a field of the wrong type; missing members keep their defaults.

/// Members with default values are omitted.
nlohmann::json to_json(const device::DeviceInfo& device);
device::DeviceInfo device_info_from_json(const nlohmann::json& json);

/// Members with default values are omitted.
nlohmann::json to_json(const measure::Telemetry& telemetry);
measure::Telemetry telemetry_from_json(const nlohmann::json& json);

/// NaN and infinities become the strings "nan", "inf", "-inf".
nlohmann::json to_json(const validate::Comparison& comparison);
validate::Comparison comparison_from_json(const nlohmann::json& json);
nlohmann::json to_json(const validate::Repeatability& repeatable);
validate::Repeatability repeatability_from_json(const nlohmann::json& json);

using space::bindings_from_json;
using space::bindings_json;
using space::to_json;
using space::value_from_json;

}  // namespace xtune::record
