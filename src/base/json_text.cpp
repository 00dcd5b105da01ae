// Uses the numbers that nlohmann-json documents for its exceptions.
#include "base/json_text.hpp"

#include <cmath>

#include "base/json_fields.hpp"
#include "base/text.hpp"
#include "xtune/error.hpp"

namespace xtune::base {

namespace {

/// The text between the first two quotes of a message.
std::string quoted_in(const std::string& message) {
  const std::size_t open = message.find('\''), close = message.rfind('\'');
  return open < close ? message.substr(open + 1, close - open - 1) : "";
}

/// "[json.exception.type_error.302] type must be number, but is string"
std::string type_text(const std::string& message) {
  constexpr std::string_view must = "type must be ", but = ", but is ";
  const std::size_t wanted = message.find(must), found = message.find(but);
  if (wanted == std::string::npos || found == std::string::npos || found < wanted) return "a value has a wrong type";
  return "a value is of type " + message.substr(found + but.size()) + "; expected " +
         message.substr(wanted + must.size(), found - wanted - must.size());
}

}  // namespace

std::string json_error_text(const nlohmann::json::exception& error) {
  const std::string message = error.what();
  if (const auto* parse = dynamic_cast<const nlohmann::json::parse_error*>(&error))
    return "not JSON (byte " + std::to_string(parse->byte) + ")";
  switch (error.id) {
    case 302:
      return printable(type_text(message), 200);
    case 403:
      return "'" + printable(quoted_in(message), 80) + "' is missing";
    case 401:
    case 402:
    case 404:
      return "a list is too short";
    case 406:
      return "a number is too large";
    default:
      return "a value has a wrong type";
  }
}

// The library's parser does not recurse, and reports the level of each value.
nlohmann::json read_json(std::string_view text) {
  using Json = nlohmann::json;
  bool too_deep = false;
  const auto keep = [&](int level, Json::parse_event_t /*event*/, const Json& /*value*/) {
    too_deep = too_deep || level > max_json_levels;
    return !too_deep;
  };
  Json json = Json::parse(text, keep, false);
  return too_deep ? Json(Json::value_t::discarded) : json;
}

nlohmann::json number_to_json(double number) {
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number < 0 ? "-inf" : "inf";
  return number;
}

double number_from_json(const nlohmann::json& json) {
  if (json.is_number()) return json;
  const std::string& text = json.get_ref<const std::string&>();
  if (text == "nan") return std::nan("");
  if (text == "inf") return HUGE_VAL;
  if (text == "-inf") return -HUGE_VAL;
  throw Error(ErrorKind::io, "'" + printable(text, 40) + "' where a number is needed");
}

}  // namespace xtune::base
