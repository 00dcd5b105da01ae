// The values of a space's configuration, and names bound to values: as text and as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "xtune/value.hpp"

namespace xtune::space {

/// One value for each parameter of a Space, in the order of the spec.
using Config = std::vector<Value>;

/// The text for a compiler's -D: booleans as 1 and 0, other values as to_text.
std::string to_define(const Value& value);

/// "boolean", "integer", "float" or "string".
const char* type_name(const Value& value) noexcept;

/// An integer or a float as a float; nullopt for other types.
std::optional<double> number_of(const Value& value) noexcept;
/// An integer, or a float that is one and fits 64 bits.
std::optional<std::int64_t> integer_of(const Value& value) noexcept;
/// As number_of, with a boolean as 1 or 0.
std::optional<double> number_or_flag(const Value& value) noexcept;

/// nullptr if the name is not bound.
const Value* find_value(const Bindings& bindings, std::string_view name) noexcept;

/// Throws Error(invalid_argument) for text that is not valid UTF-8: records, which are JSON, cannot hold it. The
/// message opens with `where`: "-D MODE".
void require_utf8(const std::string& where, const Value& value);

/// "M=4096 N=4096", by name; "" for a kernel without problem sizes. Contains texts unchanged, for comparison and
/// lookup.
std::string bindings_text(const Bindings& bindings);

/// The same for messages: on one line, with control characters escaped.
std::string shown_text(const Bindings& bindings);
/// to_text for messages: on one line, with control characters escaped.
std::string shown_text(const Value& value);

// All of these are lossless: reading the JSON gives the same value. The readers throw nlohmann's exceptions, or
// Error(io), for a field of the wrong type.

/// Booleans, integers, floats and strings as in JSON; a float that is not finite as {"float": "inf"}.
nlohmann::json to_json(const Value& value);
Value value_from_json(const nlohmann::json& json);
nlohmann::json to_json(const Bindings& bindings);
/// The same for the output of commands, whose members are in the order in which they were added.
nlohmann::ordered_json bindings_json(const Bindings& bindings);
Bindings bindings_from_json(const nlohmann::json& json);

}  // namespace xtune::space
