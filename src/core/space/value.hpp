// The value of a parameter, problem size or expression.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

namespace xtune {

/// What the spec's TOML and the expression language know: booleans, 64-bit integers, doubles, strings.
using Value = std::variant<bool, std::int64_t, double, std::string>;

/// One value for each parameter of a Space, in the order of the spec.
using Config = std::vector<Value>;

/// Names bound to values: a problem ("M" = 4096), a device's facts ("arch" = "sm_90").
using Bindings = std::map<std::string, Value, std::less<>>;

/// "true", "64", "0.5" (shortest text that reads back the same double, never mistaken for an integer), "row".
std::string to_text(const Value& value);

/// The text a compiler's -D gets: booleans as 1 and 0, the rest as to_text.
std::string to_define(const Value& value);

/// "boolean", "integer", "float" or "string".
const char* type_name(const Value& value) noexcept;

}  // namespace xtune
