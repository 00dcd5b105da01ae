// C++ text from names and values of users.
#include "core/store/header_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.hpp"

namespace xtune::store {
namespace {

const std::set<std::string_view> taken_words = {
    "alignas", "alignof", "and", "and_eq", "asm", "auto", "bitand", "bitor", "bool", "break", "case", "catch", "char",
    "char8_t", "char16_t", "char32_t", "class", "compl", "concept", "const", "consteval", "constexpr", "constinit",
    "const_cast", "continue", "co_await", "co_return", "co_yield", "decltype", "default", "delete", "do", "double",
    "dynamic_cast", "else", "enum", "explicit", "export", "extern", "false", "float", "for", "friend", "goto", "if",
    "inline", "int", "long", "mutable", "namespace", "new", "noexcept", "not", "not_eq", "nullptr", "operator", "or",
    "or_eq", "private", "protected", "public", "register", "reinterpret_cast", "requires", "return", "short", "signed",
    "sizeof", "static", "static_assert", "static_cast", "struct", "switch", "template", "this", "thread_local", "throw",
    "true", "try", "typedef", "typeid", "typename", "union", "unsigned", "using", "virtual", "void", "volatile",
    "wchar_t", "while", "xor", "xor_eq",
    // names used by the header itself
    "std", "arch", "device", "config", "problem", "time_ms", "Config", "Problem", "Winner", "winners", "default_config",
    "best", "distance", "detail"};

ValueKind kind_of(const Value& value) { return static_cast<ValueKind>(value.index()); }

ValueKind joined(ValueKind a, ValueKind b) {
  if (a == b) return a;
  if (a == ValueKind::text || b == ValueKind::text) return ValueKind::text;
  return std::max(a, b);
}

const char* type_of(ValueKind kind) {
  constexpr const char* types[] = {"bool", "long long", "double", "std::string_view"};
  return types[static_cast<std::size_t>(kind)];
}

}  // namespace

std::string identifier(std::string_view name, std::set<std::string>& used) {
  std::string word;
  for (const char c : name) {
    const bool stays = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    word += stays ? c : '_';
  }
  // Reserved: a leading underscore, and two adjacent ones.
  while (word.starts_with('_')) word.erase(0, 1);
  for (std::size_t at; (at = word.find("__")) != std::string::npos;) word.erase(at, 1);
  if (word.empty() || (word[0] >= '0' && word[0] <= '9')) word = "p" + word;
  if (taken_words.contains(word)) word += word.ends_with('_') ? "p" : "_";
  std::string result = word;
  for (int i = 2; !used.insert(result).second; ++i)
    result = word + (word.ends_with('_') ? "" : "_") + std::to_string(i);
  return result;
}

std::string string_literal(std::string_view text) {
  std::string literal = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\' || c == '?')
      literal.append("\\").append(1, c);
    else if (byte < 0x20 || byte >= 0x7F)
      literal += fmt::format("\\{:03o}", byte);
    else
      literal += c;
  }
  return literal + "\"";
}

std::string in_comment(std::string_view text) {
  std::string line = base::printable(text, 100);
  for (char& c : line)
    if (c == '\n' || c == '\t' || c == '\\') c = ' ';
  return line;
}

std::string header_number(double value) {
  if (std::isnan(value)) return "std::numeric_limits<double>::quiet_NaN()";
  if (std::isinf(value)) return std::string(value < 0 ? "-" : "") + "std::numeric_limits<double>::infinity()";
  return to_text(Value(value));
}

std::string header_literal(const Value& value, ValueKind kind) {
  if (kind == ValueKind::text) return string_literal(to_text(value));
  if (const auto* boolean = std::get_if<bool>(&value))
    return kind == ValueKind::boolean ? (*boolean ? "true" : "false")
           : kind == ValueKind::real  ? (*boolean ? "1.0" : "0.0")
                                      : (*boolean ? "1" : "0");
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    if (kind == ValueKind::real) return header_number(static_cast<double>(*integer));
    return *integer == INT64_MIN ? "-9223372036854775807LL - 1" : std::to_string(*integer) + "LL";
  }
  return header_number(std::get<double>(value));
}

std::vector<HeaderField> header_fields(const std::vector<const Bindings*>& lists) {
  std::vector<HeaderField> fields;
  std::set<std::string> used;
  for (const auto& [name, value] : *lists.front()) {
    HeaderField field{name, identifier(name, used), kind_of(value)};
    for (const Bindings* bindings : lists) field.kind = joined(field.kind, kind_of(bindings->at(name)));
    fields.push_back(field);
  }
  return fields;
}

std::string header_initializer(const Bindings& bindings, const std::vector<HeaderField>& fields) {
  std::string list;
  for (const HeaderField& field : fields)
    list += (list.empty() ? "" : ", ") + header_literal(bindings.at(field.name), field.kind);
  return "{" + list + "}";
}

std::string header_structure(const char* name, const std::vector<HeaderField>& fields) {
  std::string text = fmt::format("struct {} {{\n", name);
  for (const HeaderField& field : fields) {
    text += fmt::format("  {} {};", type_of(field.kind), field.word);
    text += field.word == field.name ? "\n" : "  // " + in_comment(field.name) + "\n";
  }
  return text + "};\n";
}

bool same_names(const Bindings& a, const Bindings& b) {
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [](const auto& x, const auto& y) { return x.first == y.first; });
}

}  // namespace xtune::store
