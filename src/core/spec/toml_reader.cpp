// The only file that uses toml++: parses text and copies it into xtune's own tree, in the order of the file.
#include <stdexcept>

// Its parser only asserts conditions that some malformed keys violate: a bad file must be an error in every build,
// neither an abort nor undefined behaviour.
#undef NDEBUG
#define TOML_ASSERT(condition) ((condition) ? static_cast<void>(0) : throw std::logic_error("this is not TOML"))
#define TOML_MAX_NESTED_VALUES 64
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpragmas"
#pragma GCC diagnostic ignored "-Wunknown-warning-option"
#pragma GCC diagnostic ignored "-Wterminate"
#pragma GCC diagnostic ignored "-Wexceptions"
#include <toml++/toml.h>
#pragma GCC diagnostic pop

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>

#include "base/text.hpp"
#include "core/spec/document.hpp"

namespace xtune::spec {

namespace {

Position position(const toml::source_position& at) { return {at.line, at.column}; }

class TreeBuilder {
 public:
  TreeBuilder(const std::string& text, const std::vector<std::size_t>& line_starts)
      : text_(text), line_starts_(line_starts) {
    for (std::size_t i = 0; i < text.size(); ++i)
      if ((text[i] & 0xC0) != 0x80) characters_.push_back(i);
  }

  TomlNode build(const toml::node& source) const {
    TomlNode node;
    node.at = node.key_at = node.content_at = position(source.source().begin);
    if (const auto* table = source.as_table()) {
      fill_table(node, *table);
    } else if (const auto* array = source.as_array()) {
      node.kind = TomlNode::Kind::array;
      for (const toml::node& element : *array) node.items.push_back(build(element));
    } else if (const auto* text = source.as_string()) {
      node.kind = TomlNode::Kind::text;
      node.value = std::string(text->get());
      node.content_at = content_position(node.at);
      const std::string_view quotes = quotes_at(node.at);
      node.escaped = quotes.starts_with('"') && quotes != "\"\"\"";
    } else if (const auto* integer = source.as_integer()) {
      node.kind = TomlNode::Kind::integer;
      node.value = integer->get();
    } else if (const auto* floating = source.as_floating_point()) {
      node.kind = TomlNode::Kind::floating;
      node.value = floating->get();
    } else if (const auto* boolean = source.as_boolean()) {
      node.kind = TomlNode::Kind::boolean;
      node.value = boolean->get();
    } else {
      node.kind = TomlNode::Kind::time;
    }
    return node;
  }

 private:
  // toml++ sorts tables by key; parameters and metrics need the order of the file.
  void fill_table(TomlNode& node, const toml::table& table) const {
    node.kind = TomlNode::Kind::table;
    for (const auto& [key, value] : table) {
      TomlNode child = build(value);
      child.key_at = position(key.source().begin);
      node.entries.push_back({std::string(key.str()), std::move(child)});
    }
    std::stable_sort(node.entries.begin(), node.entries.end(), [](const auto& a, const auto& b) {
      const Position& left = a.node.key_at;
      const Position& right = b.node.key_at;
      return left.line != right.line ? left.line < right.line : left.column < right.column;
    });
  }

  std::size_t offset_of(Position at) const {
    if (at.line == 0 || at.line > line_starts_.size()) return text_.size();
    const auto first = std::lower_bound(characters_.begin(), characters_.end(), line_starts_[at.line - 1]);
    const std::size_t number = static_cast<std::size_t>(first - characters_.begin()) + at.column - 1;
    return number < characters_.size() ? characters_[number] : text_.size();
  }

  std::string_view quotes_at(Position at) const {
    return std::string_view(text_).substr(std::min(offset_of(at), text_.size()), 3);
  }

  Position content_position(Position at) const {
    const std::size_t offset = offset_of(at);
    const std::string_view quotes = quotes_at(at);
    if (quotes != "\"\"\"" && quotes != "'''") return {at.line, at.column + 1};
    const std::string_view next = std::string_view(text_).substr(std::min(offset + 3, text_.size()), 2);
    if (next.substr(0, 1) == "\n" || next == "\r\n") return {at.line + 1, 1};
    return {at.line, at.column + 3};
  }

  const std::string& text_;
  const std::vector<std::size_t>& line_starts_;
  /// The offsets of characters. Columns count characters, and a line may be as long as the file: walking along it for
  /// each string would take quadratic time.
  std::vector<std::size_t> characters_;
};

// A violated assertion has no place: the shortest prefix of lines that violates one ends there.
std::size_t asserting_line(const std::string& text, const std::vector<std::size_t>& line_starts) {
  std::size_t low = 1;
  std::size_t high = line_starts.size();
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    try {
      static_cast<void>(toml::parse(std::string_view(text).substr(0, line_starts[middle])));
      low = middle + 1;
    } catch (const toml::parse_error&) {
      low = middle + 1;
    } catch (const std::logic_error&) {
      high = middle;
    }
  }
  return low;
}

/// The first byte beyond ASCII outside of strings and comments, where TOML does not allow it. toml++ 3.3's
/// classification of such characters is undefined behaviour for some of them.
std::optional<std::size_t> foreign_character(std::string_view text) {
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  std::size_t at = text.starts_with(byte_order_mark) ? byte_order_mark.size() : 0;
  while (at < text.size()) {
    const char c = text[at];
    if (static_cast<unsigned char>(c) >= 0x80) return at;
    if (c == '#') {
      at = std::min(text.find('\n', at), text.size());
    } else if (c == '"' || c == '\'') {
      const std::string_view triple = text.substr(at, 3);
      const bool lines = triple == std::string(3, c);
      const std::string_view close = lines ? triple : triple.substr(0, 1);
      for (at += close.size(); at < text.size() && text.substr(at, close.size()) != close; ++at) {
        if (!lines && text[at] == '\n') break;  // not closed: the parser reports it
        if (c == '"' && text[at] == '\\') ++at;
      }
      at += close.size();
    } else {
      ++at;
    }
  }
  return std::nullopt;
}

Position position_of(const std::string& text, const std::vector<std::size_t>& line_starts, std::size_t offset) {
  const auto line = std::upper_bound(line_starts.begin(), line_starts.end(), offset) - 1;
  Position at{static_cast<std::size_t>(line - line_starts.begin()) + 1, 1};
  for (std::size_t i = *line; i < offset; ++i) at.column += (text[i] & 0xC0) != 0x80;  // columns count characters
  return at;
}

/// The parser's message, with advice for the most common mistakes.
std::string explained(std::string_view description) {
  const auto mentions = [&](std::string_view part) { return description.find(part) != std::string_view::npos; };
  std::string text = base::printable(description);
  // Some words begin like those that TOML has.
  const bool begun = mentions("expected 'nan'") || mentions("expected 'inf'") || mentions("expected 'true'") ||
                     mentions("expected 'false'");
  if (begun || mentions("could not determine value type"))
    text += ". Write names, expressions and other text in quotes";
  for (const char* list : {"args", "cases"})
    if (mentions("cannot redefine") && mentions("'" + std::string(list) + "'"))
      text += fmt::format(". Each entry of a list of tables begins with [[{}]]", list);
  return text;
}

}  // namespace

TomlNode read_toml(const std::string& text, const std::vector<std::size_t>& line_starts) {
  if (const auto offset = foreign_character(text)) {
    std::size_t end = *offset + 1;
    while (end < text.size() && (text[end] & 0xC0) == 0x80) ++end;
    throw TomlSyntaxError{
        position_of(text, line_starts, *offset),
        "'" + base::printable(text.substr(*offset, end - *offset)) +
            "' outside of strings and comments: write keys with letters, digits, - and _, or in quotes"};
  }
  try {
    return TreeBuilder(text, line_starts).build(toml::parse(text));
  } catch (const toml::parse_error& error) {
    throw TomlSyntaxError{position(error.source().begin), explained(error.description())};
  } catch (const std::logic_error& error) {
    throw TomlSyntaxError{{asserting_line(text, line_starts), 1}, error.what()};
  }
}

}  // namespace xtune::spec
