// The JSON form of values, and of names bound to values.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "core/space/value.hpp"

namespace xtune::space {

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
