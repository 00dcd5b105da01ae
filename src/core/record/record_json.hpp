// JSON forms of the parts of a record that worker messages and reports carry too.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "core/device/device_info.hpp"
#include "core/space/value.hpp"
#include "core/validate/compare.hpp"

namespace xtune {

nlohmann::json to_json(const DeviceInfo& device);
DeviceInfo device_info_from_json(const nlohmann::json& json);

/// NaN and infinities travel as the strings "nan", "inf", "-inf".
nlohmann::json to_json(const Comparison& comparison);
Comparison comparison_from_json(const nlohmann::json& json);

nlohmann::json to_json(const Value& value);
Value value_from_json(const nlohmann::json& json);
nlohmann::json to_json(const Bindings& bindings);
Bindings bindings_from_json(const nlohmann::json& json);

}  // namespace xtune
