// A TOML document as a tree with the place of each key and value, and errors that point into it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/space/value.hpp"
#include "core/spec/spec.hpp"

namespace xtune::spec {

/// A place in the text. Both count from 1; columns in characters.
struct Position {
  std::size_t line = 0;
  std::size_t column = 0;
};

struct TomlEntry;

struct TomlNode {
  enum class Kind { boolean, integer, floating, text, array, table, time };
  Kind kind = Kind::table;
  Position at;                     ///< of the value
  Position key_at;                 ///< of the key, for an entry of a table; else of the value
  Position content_at;             ///< text: the first character inside the quotes; else the value
  bool escaped = false;            ///< text: in double quotes, on one line
  Value value = false;             ///< boolean, integer, floating and text
  std::vector<TomlNode> items;     ///< array
  std::vector<TomlEntry> entries;  ///< table, in the order of the file

  const TomlNode* find(std::string_view key) const noexcept;
  TomlNode* find(std::string_view key) noexcept;
  bool is_table() const noexcept { return kind == Kind::table; }
  bool is_array() const noexcept { return kind == Kind::array; }
};

/// One entry of a table.
struct TomlEntry {
  std::string key;
  TomlNode node;
};

/// "a string", "an array": for errors about an unexpected kind.
const char* kind_name(TomlNode::Kind kind) noexcept;
std::string joined(const std::vector<std::string>& parts);  ///< "a, b"
/// The node as TOML on one line: "[64, 128]", "{ min = 2, max = 5 }".
std::string render(const TomlNode& node);

class Document {
 public:
  /// Throws Error(invalid_spec) for text that is not TOML.
  Document(std::string text, std::string name);

  const TomlNode& root() const noexcept { return root_; }
  TomlNode& root() noexcept { return root_; }
  Location at(Position position) const { return {name_, position.line, position.column}; }

  /// Whether the text stands in the file as it is, without escapes.
  bool verbatim(const TomlNode& text) const;

  /// Throws Error(invalid_spec) with all complaints so far and this one, each as "file:line:column: message", the
  /// source line and a caret.
  [[noreturn]] void fail(Position position, const std::string& message) const;
  [[noreturn]] void fail(const Location& location, const std::string& message) const;
  /// Records an error after which the check can continue; fail and throw_complaints report it.
  void complain(Position position, const std::string& message);
  void throw_complaints() const;

 private:
  std::string describe(Position position, const std::string& message) const;
  std::string_view line(std::size_t number) const;

  std::string text_;
  std::string name_;
  std::vector<std::size_t> line_starts_;
  std::vector<std::string> complaints_;
  TomlNode root_;
};

/// The parser that reads text into a tree. line_starts: byte offsets of the lines. Throws TomlSyntaxError.
struct TomlSyntaxError {
  Position at;
  std::string message;
};
TomlNode read_toml(const std::string& text, const std::vector<std::size_t>& line_starts);

/// A basic string, for any text.
std::string toml_string(std::string_view text);
std::string toml_text(const Value& value);
std::string toml_list(const std::vector<Value>& values);  ///< "[1, 2]"

}  // namespace xtune::spec
