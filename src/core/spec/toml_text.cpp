// Writes values as TOML.
#include "core/spec/toml_text.hpp"

namespace xtune::spec {

std::string toml_string(std::string_view text) {
  constexpr char digits[] = "0123456789abcdef";
  std::string result = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (byte < 0x20 || byte == 0x7f) {
      result += "\\u00";
      result += digits[byte >> 4];
      result += digits[byte & 15];
    } else {
      result += c;
    }
  }
  return result + "\"";
}

std::string toml_text(const Value& value) {
  const auto* text = std::get_if<std::string>(&value);
  return text ? toml_string(*text) : to_text(value);
}

std::string toml_list(const std::vector<Value>& values) {
  std::string list;
  for (const Value& value : values) list += (list.empty() ? "" : ", ") + toml_text(value);
  return "[" + list + "]";
}

}  // namespace xtune::spec
