// Texts of values: for people, for records and for the compiler's command line.
#include "core/space/value.hpp"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <variant>

#include "base/json_fields.hpp"
#include "base/text.hpp"
#include "xtune/error.hpp"

namespace xtune {

namespace {

std::string float_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char buffer[40];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  std::string text(buffer, end);
  // "1" would be read back as an integer, and `-D X=1` would define an int; "1e+22" is unambiguous.
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

}  // namespace

std::string to_text(const Value& value) {
  if (const auto* boolean = std::get_if<bool>(&value)) return *boolean ? "true" : "false";
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return std::to_string(*integer);
  if (const auto* floating = std::get_if<double>(&value)) return float_text(*floating);
  return std::get<std::string>(value);
}

std::string expression_text(const Value& value) {
  const auto* floating = std::get_if<double>(&value);
  return floating && !std::isfinite(*floating) ? "float('" + float_text(*floating) + "')" : to_text(value);
}

}  // namespace xtune

namespace xtune::space {

std::string to_define(const Value& value) {
  if (const auto* boolean = std::get_if<bool>(&value)) return *boolean ? "1" : "0";
  return to_text(value);
}

const char* type_name(const Value& value) noexcept {
  constexpr const char* names[] = {"boolean", "integer", "float", "string"};
  return value.index() < 4 ? names[value.index()] : "nothing";
}

std::optional<double> number_of(const Value& value) noexcept {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return static_cast<double>(*integer);
  if (const auto* floating = std::get_if<double>(&value)) return *floating;
  return std::nullopt;
}

std::optional<std::int64_t> integer_of(const Value& value) noexcept {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return *integer;
  const auto* floating = std::get_if<double>(&value);
  if (!floating || *floating != std::floor(*floating) || std::abs(*floating) >= 0x1p63) return std::nullopt;
  return static_cast<std::int64_t>(*floating);
}

std::optional<double> number_or_flag(const Value& value) noexcept {
  if (const auto* boolean = std::get_if<bool>(&value)) return *boolean ? 1 : 0;
  return number_of(value);
}

const Value* find_value(const Bindings& bindings, std::string_view name) noexcept {
  const auto found = bindings.find(name);
  return found == bindings.end() ? nullptr : &found->second;
}

void require_utf8(const std::string& where, const Value& value) {
  const auto* const text = std::get_if<std::string>(&value);
  if (text && !base::is_utf8(*text))
    throw Error(ErrorKind::invalid_argument,
                where + ": the value '" + base::one_line(base::printable(*text, 80)) + "' is not valid UTF-8");
}

std::string bindings_text(const Bindings& bindings) {
  std::string text;
  for (const auto& [name, value] : bindings) text += (text.empty() ? "" : " ") + name + "=" + to_text(value);
  return text;
}

std::string shown_text(const Bindings& bindings) { return base::one_line(bindings_text(bindings)); }

std::string shown_text(const Value& value) { return base::one_line(to_text(value)); }

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
