// Errors of a document: place, message, source line, caret. The only file that uses toml++: it parses text and copies
// it into xtune's own tree, in the order of the file.
#include "core/spec/document.hpp"

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
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/text.hpp"
#include "xtune/error.hpp"

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
      set(node, TomlNode::Kind::text, text->get());
      node.content_at = content_position(node.at);
      const std::string_view quotes = quotes_at(node.at);
      node.escaped = quotes.starts_with('"') && quotes != "\"\"\"";
    } else if (const auto* integer = source.as_integer()) {
      set(node, TomlNode::Kind::integer, integer->get());
    } else if (const auto* floating = source.as_floating_point()) {
      set(node, TomlNode::Kind::floating, floating->get());
    } else if (const auto* boolean = source.as_boolean()) {
      set(node, TomlNode::Kind::boolean, boolean->get());
    } else {
      node.kind = TomlNode::Kind::time;
    }
    return node;
  }

 private:
  static void set(TomlNode& node, TomlNode::Kind kind, Value value) {
    node.kind = kind;
    node.value = std::move(value);
  }

  // toml++ sorts tables by key; parameters and metrics need the order of the file.
  void fill_table(TomlNode& node, const toml::table& table) const {
    node.kind = TomlNode::Kind::table;
    for (const auto& [key, value] : table) {
      TomlNode child = build(value);
      child.key_at = position(key.source().begin);
      node.entries.push_back({std::string(key.str()), std::move(child)});
    }
    std::ranges::stable_sort(node.entries, {}, [](const TomlEntry& entry) {
      return std::pair(entry.node.key_at.line, entry.node.key_at.column);
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

// Every table header or dotted key makes a nested table, and the tree is walked and freed recursively: a key with
// thousands of parts would overflow the stack. Adjacent dots ("...") are never part of a key.
void refuse_deep_keys(const std::string& text) {
  constexpr int max_parts = 32;
  int dots = 0;
  Position at{1, 1};
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\n' || c == '=' || c == ',' || c == '[' || c == '{') dots = 0;
    const bool alone = c == '.' && (i == 0 || text[i - 1] != '.') && (i + 1 == text.size() || text[i + 1] != '.');
    if (alone && ++dots > max_parts)
      throw TomlSyntaxError{at, "a key with more than 32 parts, or more than 32 dots without a comma"};
    at = c == '\n' ? Position{at.line + 1, 1} : Position{at.line, at.column + 1};
  }
}

bool is_source_name(std::string_view name) {
  for (const std::string_view ending : {".cu", ".cuh", ".hip", ".cpp", ".cxx", ".cc", ".c", ".hpp", ".h", ".cl", ".py"})
    if (name.ends_with(ending)) return true;
  return false;
}

// The line, and below it a caret under the column; empty if they would not help.
std::string excerpt(std::string_view line, std::size_t column) {
  constexpr std::size_t longest = 160;
  if (line.empty() || line.size() > longest || column == 0 || column > line.size() + 1) return {};
  const bool plain =
      std::none_of(line.begin(), line.end(), [](char c) { return c == '\r' || c == '\t' || (c & 0x80) != 0; });
  // After tabs and wide characters a caret would be in the wrong column.
  return "\n  " + base::printable(line) + (plain ? "\n  " + std::string(column - 1, ' ') + "^" : "");
}

/// Keys have the names of today, also where the file has earlier ones.
void rename_keys(TomlNode& node, std::string_view name) {
  const std::string_view now = name == "validate" ? "validator" : name == "process" ? "validate" : "";
  for (TomlEntry& entry : node.entries) {
    if (entry.key == "check" && !now.empty() && !node.find(now)) entry.key = now;
    if (entry.node.is_table()) rename_keys(entry.node, entry.key);
  }
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

const TomlNode* TomlNode::find(std::string_view key) const noexcept {
  const auto found = std::ranges::find(entries, key, &TomlEntry::key);
  return found == entries.end() ? nullptr : &found->node;
}

TomlNode* TomlNode::find(std::string_view key) noexcept {
  return const_cast<TomlNode*>(std::as_const(*this).find(key));
}

const char* kind_name(TomlNode::Kind kind) noexcept {
  constexpr std::array names{"a boolean", "an integer", "a float", "a string", "an array", "a table", "a date or time"};
  return names[static_cast<std::size_t>(kind)];
}

std::string joined(const std::vector<std::string>& parts) { return fmt::format("{}", fmt::join(parts, ", ")); }

std::string render(const TomlNode& node) {
  std::vector<std::string> parts;
  for (const TomlNode& item : node.items) parts.push_back(render(item));
  for (const auto& [key, entry] : node.entries) parts.push_back(key + " = " + render(entry));
  switch (node.kind) {
    case TomlNode::Kind::array:
      return "[" + joined(parts) + "]";
    case TomlNode::Kind::table:
      return "{ " + joined(parts) + " }";
    case TomlNode::Kind::text:
      return toml_string(std::get<std::string>(node.value));
    case TomlNode::Kind::time:
      return "a date or time";
    default:
      return to_text(node.value);
  }
}

Document::Document(std::string text, std::string name) : text_(std::move(text)), name_(std::move(name)) {
  line_starts_.push_back(0);
  for (std::size_t i = 0; i < text_.size(); ++i)
    if (text_[i] == '\n') line_starts_.push_back(i + 1);
  try {
    if (const auto zero = text_.find('\0'); zero != std::string::npos)
      throw TomlSyntaxError{position_of(text_, line_starts_, zero), "a zero byte: this is not a text file"};
    refuse_deep_keys(text_);
    root_ = read_toml(text_, line_starts_);
    rename_keys(root_, "");
  } catch (const TomlSyntaxError& error) {
    if (is_source_name(name_))
      fail(Location{name_, 0, 0},
           "this is a source file, not a spec. A spec is a .toml file that names the source; `xtune init` writes a "
           "first "
           "one for a kernel");
    fail(error.at, error.message);
  }
}

std::string_view Document::line(std::size_t number) const {
  if (number == 0 || number > line_starts_.size()) return {};
  const std::size_t start = line_starts_[number - 1];
  const std::size_t end = number < line_starts_.size() ? line_starts_[number] - 1 : text_.size();
  return std::string_view(text_).substr(start, end - start);
}

bool Document::verbatim(const TomlNode& text) const {
  const Position at = text.content_at;
  if (at.line == 0 || at.line > line_starts_.size()) return false;
  std::size_t offset = line_starts_[at.line - 1];
  for (std::size_t column = 1; column < at.column && offset < text_.size(); ++offset)
    if (offset + 1 >= text_.size() || (text_[offset + 1] & 0xC0) != 0x80) ++column;
  const std::string& value = std::get<std::string>(text.value);
  // TOML reads a line end of Windows as one of Unix.
  for (const char c : value) {
    if (c == '\n' && offset < text_.size() && text_[offset] == '\r') ++offset;
    if (offset >= text_.size() || text_[offset] != c) return false;
    ++offset;
  }
  return true;
}

std::string Document::describe(Position position, const std::string& message) const {
  return to_string(at(position)) + ": " + base::printable(message) + excerpt(line(position.line), position.column);
}

void Document::fail(Position position, const std::string& message) const {
  std::vector<std::string> all = complaints_;
  all.push_back(describe(position, message));
  throw Error(ErrorKind::invalid_spec, fmt::format("{}", fmt::join(all, "\n")));
}

void Document::fail(const Location& location, const std::string& message) const {
  if (location.line == 0) throw Error(ErrorKind::invalid_spec, location.file + ": " + base::printable(message));
  fail(Position{location.line, location.column}, message);
}

void Document::complain(Position position, const std::string& message) {
  constexpr std::size_t most = 20;
  if (complaints_.size() < most) complaints_.push_back(describe(position, message));
}

void Document::throw_complaints() const {
  if (!complaints_.empty()) throw Error(ErrorKind::invalid_spec, fmt::format("{}", fmt::join(complaints_, "\n")));
}

Error spec_error(const Spec& spec, const Location& at, const std::string& message) {
  std::string_view line;
  if (spec.text && at.line > 0 && at.file == spec.text_name) {
    line = *spec.text;
    for (std::size_t number = 1; number < at.line && !line.empty(); ++number)
      line.remove_prefix(std::min(line.find('\n'), line.size() - 1) + 1);
    line = line.substr(0, line.find('\n'));
  }
  const std::string place = to_string(at);
  return Error(ErrorKind::invalid_spec,
               (place.empty() ? "" : place + ": ") + base::printable(message) + excerpt(line, at.column));
}

std::string toml_string(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f)
      result += fmt::format("\\u{:04x}", byte);
    else
      result += c == '"' || c == '\\' ? std::string{'\\', c} : std::string{c};
  }
  return result + "\"";
}

std::string toml_text(const Value& value) {
  const auto* text = std::get_if<std::string>(&value);
  return text ? toml_string(*text) : to_text(value);
}

std::string toml_list(const std::vector<Value>& values) {
  std::vector<std::string> items;
  for (const Value& value : values) items.push_back(toml_text(value));
  return "[" + joined(items) + "]";
}

}  // namespace xtune::spec
