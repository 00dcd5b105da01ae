// Values and names bound to them as JSON.
#include "core/space/value_json.hpp"

#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <variant>

#include "base/json_fields.hpp"
#include "base/text.hpp"
#include "xtune/error.hpp"

namespace xtune::space {

nlohmann::json to_json(const Value& value) {
  if (const auto* boolean = std::get_if<bool>(&value)) return *boolean;
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return *integer;
  if (const auto* text = std::get_if<std::string>(&value)) return base::utf8_text(*text);
  const double number = std::get<double>(value);
  return std::isfinite(number) ? nlohmann::json(number) : nlohmann::json{{"float", base::number_to_json(number)}};
}

Value value_from_json(const nlohmann::json& json) {
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_float()) return json.get<double>();
  if (json.is_number_unsigned() && json.get<std::uint64_t>() > INT64_MAX)
    throw Error(ErrorKind::io, "the integer " + json.dump() + " does not fit 64 bits");
  if (json.is_number()) return json.get<std::int64_t>();
  if (json.is_object()) return base::number_from_json(json.at("float"));
  return json.get<std::string>();
}

nlohmann::json to_json(const Bindings& bindings) {
  nlohmann::json json = nlohmann::json::object();
  for (const auto& [name, value] : bindings) json[base::utf8_text(name)] = to_json(value);
  return json;
}

nlohmann::ordered_json bindings_json(const Bindings& bindings) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const auto& [name, value] : bindings) json[name] = to_json(value);
  return json;
}

Bindings bindings_from_json(const nlohmann::json& json) {
  Bindings bindings;
  for (const auto& [name, value] : json.get_ref<const nlohmann::json::object_t&>())
    bindings.emplace(name, value_from_json(value));
  return bindings;
}

}  // namespace xtune::space
