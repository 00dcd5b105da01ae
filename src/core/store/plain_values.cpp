// Numbers are accepted only in the form that a JSON writer uses; others are left to the JSON reader.
#include "core/store/plain_values.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/store/json_walk.hpp"
#include "core/store/record_scan.hpp"

namespace xtune::store {
namespace {

// A JSON number without an exponent, short enough to be finite.
bool take_number(const char*& at, const char* end) {
  constexpr std::ptrdiff_t longest = 300;
  const auto digits = [&] {
    const char* const begin = at;
    while (at != end && *at >= '0' && *at <= '9') ++at;
    return at - begin;
  };
  const char* const begin = at;
  if (at != end && *at == '-') ++at;
  const bool is_zero = at != end && *at == '0';
  const std::ptrdiff_t whole = digits();
  if (whole == 0 || (is_zero && whole > 1)) return false;
  if (at != end && *at == '.') {
    ++at;
    if (digits() == 0) return false;
  }
  return at - begin < longest;
}

// Whether it is certainly a JSON integer of 64 bits.
bool is_short_integer(std::string_view text) {
  if (text == "-0") return false;
  if (text.starts_with('-')) text.remove_prefix(1);
  const bool digits = std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
  return digits && !text.empty() && text.size() <= 18 && (text.front() != '0' || text.size() == 1);
}

std::optional<Value> plain_number(std::string_view value) {
  std::int64_t integer = 0;
  double number = 0;
  if (scan_number(value, integer)) {
    if (std::to_string(integer) == value) return Value(integer);
  } else if (value.find_first_of(".eE") != std::string_view::npos && scan_number(value, number) &&
             nlohmann::json::accept(value)) {
    return Value(number);
  }
  return std::nullopt;
}

std::optional<Value> plain_value(std::string_view value, bool is_text) {
  if (is_text) return Value(std::string(value));
  if (value == "true" || value == "false") return Value(value == "true");
  return plain_number(value);
}

}  // namespace

std::optional<Value> plain_value(std::string_view json) {
  const bool is_text = json.size() >= 2 && json.front() == '"';
  return plain_value(is_text ? json.substr(1, json.size() - 2) : json, is_text);
}

void append_value_text(std::string_view json, std::string& text) {
  if (json.starts_with('"'))
    text += json.substr(1, json.size() - 2);
  else if (json == "true" || json == "false" || is_short_integer(json))
    text += json;
  else
    text += to_text(*plain_number(json));
}

bool split_plain(std::string_view object, std::string& names, std::string& values) {
  names.clear(), values.clear();
  std::string_view before;
  return visit_members(object, [&](std::string_view name, std::string_view value, bool is_text) {
    if (name.empty() || (!before.empty() && !(before < name))) return false;
    before = name;
    if (!is_text && value != "true" && value != "false" && !is_short_integer(value) && !plain_number(value))
      return false;
    if (!names.empty()) names += ',', values += ',';
    names.append("\"").append(name).append("\"");
    if (is_text) values += '"';
    values += value;
    if (is_text) values += '"';
    return true;
  });
}

bool append_plain_text(std::string_view object, std::string& text) {
  std::string_view before;
  return visit_members(object, [&](std::string_view name, std::string_view value, bool is_text) {
    if (!before.empty() && !(before < name)) return false;
    if (!before.empty()) text += ' ';
    if (name.empty()) return false;
    before = name;
    const std::optional<Value> plain = plain_value(value, is_text);
    if (!plain) return false;
    text.append(name).append("=");
    if (std::holds_alternative<double>(*plain))
      text += to_text(*plain);
    else
      text += value;
    return true;
  });
}

std::optional<PlainBindings> plain_bindings(std::string_view object) {
  PlainBindings plain;
  if (!append_plain_text(object, plain.text)) return std::nullopt;
  visit_members(object, [&](std::string_view name, std::string_view value, bool is_text) {
    plain.values.emplace_hint(plain.values.end(), name, *plain_value(value, is_text));
    return true;
  });
  return plain;
}

bool plain_numbers(std::string_view list, std::vector<double>& numbers) {
  if (list.size() < 2 || list.front() != '[') return false;
  const char* at = list.data() + 1;
  const char* const end = list.data() + list.size();
  if (*at == ']') return at + 1 == end;
  for (double number = 0; at != end;) {
    const auto [next, error] = std::from_chars(at, end, number);
    if (error != std::errc() || next == end || !std::isfinite(number)) return false;
    numbers.push_back(number);
    at = next + 1;
    if (*next == ']') return at == end;
    if (*next != ',') return false;
  }
  return false;
}

bool is_number_list(std::string_view list) {
  if (list.size() < 2 || list.front() != '[') return false;
  const char* at = list.data() + 1;
  const char* const end = list.data() + list.size();
  if (*at == ']') return at + 1 == end;
  while (take_number(at, end) && at != end) {
    if (*at == ']') return at + 1 == end;
    if (*at++ != ',') return false;
  }
  return false;
}

bool is_integer_object(std::string_view object) {
  return visit_members(object, [](std::string_view, std::string_view value, bool is_text) {
    std::int64_t integer = 0;
    return !is_text && scan_number(value, integer) && std::to_string(integer) == value;
  });
}

}  // namespace xtune::store
