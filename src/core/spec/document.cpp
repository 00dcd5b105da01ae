// Errors of a document: place, message, source line, caret.
#include "core/spec/document.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "xtune/error.hpp"

namespace xtune::spec {

namespace {

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

}  // namespace

const TomlNode* TomlNode::find(std::string_view key) const noexcept {
  for (const auto& [name, node] : entries)
    if (name == key) return &node;
  return nullptr;
}

TomlNode* TomlNode::find(std::string_view key) noexcept {
  for (auto& [name, node] : entries)
    if (name == key) return &node;
  return nullptr;
}

const char* kind_name(TomlNode::Kind kind) noexcept {
  switch (kind) {
    case TomlNode::Kind::boolean:
      return "a boolean";
    case TomlNode::Kind::integer:
      return "an integer";
    case TomlNode::Kind::floating:
      return "a float";
    case TomlNode::Kind::text:
      return "a string";
    case TomlNode::Kind::array:
      return "an array";
    case TomlNode::Kind::table:
      return "a table";
    case TomlNode::Kind::time:
      return "a date or time";
  }
  return "nothing";
}

std::string joined(const std::vector<std::string>& parts) {
  std::string list;
  for (const std::string& part : parts) list += (list.empty() ? "" : ", ") + part;
  return list;
}

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
    if (const auto zero = text_.find('\0'); zero != std::string::npos) {
      const auto next = std::upper_bound(line_starts_.begin(), line_starts_.end(), zero);
      throw TomlSyntaxError{{static_cast<std::size_t>(next - line_starts_.begin()), zero - *(next - 1) + 1},
                            "a zero byte: this is not a text file"};
    }
    refuse_deep_keys(text_);
    root_ = read_toml(text_, line_starts_);
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
  std::string all;
  for (const std::string& complaint : complaints_) all += complaint + "\n";
  throw Error(ErrorKind::invalid_spec, all + describe(position, message));
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
  if (complaints_.empty()) return;
  std::string all;
  for (const std::string& complaint : complaints_) all += (all.empty() ? "" : "\n") + complaint;
  throw Error(ErrorKind::invalid_spec, all);
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
  std::vector<std::string> items;
  for (const Value& value : values) items.push_back(toml_text(value));
  return "[" + joined(items) + "]";
}

}  // namespace xtune::spec
