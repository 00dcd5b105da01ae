// Typed access to nodes: errors name what was expected, what was found, and the nearest word.
#include "core/spec/reader.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>

#include "base/text.hpp"
#include "core/space/value.hpp"

namespace xtune::spec {

std::string file_obstacle(const std::filesystem::path& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  switch (fs::status(path, error).type()) {
    case fs::file_type::regular:
      return access(path.c_str(), R_OK) == 0 ? "" : std::string("cannot be read: ") + std::strerror(errno);
    case fs::file_type::directory:
      return "is a directory";
    case fs::file_type::fifo:
      return "is a pipe, not a file";
    case fs::file_type::socket:
      return "is a socket, not a file";
    case fs::file_type::block:
    case fs::file_type::character:
      return "is a device, not a file";
    case fs::file_type::not_found:
      if (const fs::path target = fs::read_symlink(path, error); !error)
        return "is a symbolic link to " + target.string() + ", which does not exist";
      return "does not exist";
    default:
      return "cannot be read: " + error.message();
  }
}

void Reader::wrong_type(const TomlNode& node, const std::string& what, const std::string& expected) const {
  fail(node.at, what + ": expected " + expected + ", got " + kind_name(node.kind));
}

void Reader::check_keys(const TomlNode& table, const std::string& where, const std::vector<std::string>& keys) const {
  for (const auto& [key, node] : table.entries) {
    if (std::find(keys.begin(), keys.end(), key) != keys.end()) continue;
    const std::string what =
        node.is_table() && where == "the spec" ? "unknown table '[" + key + "]'" : "unknown key '" + key + "'";
    document.complain(node.key_at, what + " in " + where + base::did_you_mean(key, keys));
  }
}

const TomlNode& Reader::table(const TomlNode& node, const std::string& what) const {
  if (!node.is_table()) wrong_type(node, what, "a table");
  return node;
}

const TomlNode& Reader::array(const TomlNode& node, const std::string& what) const {
  if (!node.is_array()) wrong_type(node, what, "an array");
  return node;
}

std::string Reader::text(const TomlNode& node, const std::string& what) const {
  if (node.kind != TomlNode::Kind::text) wrong_type(node, what, "a string");
  return std::get<std::string>(node.value);
}

Text Reader::placed_text(const TomlNode& node, const std::string& what) const {
  return {text(node, what), document.at(node.content_at), node.escaped, spec.derived};
}

bool Reader::boolean(const TomlNode& node, const std::string& what) const {
  if (node.kind != TomlNode::Kind::boolean) wrong_type(node, what, "true or false");
  return std::get<bool>(node.value);
}

std::int64_t Reader::integer(const TomlNode& node, const std::string& what, std::int64_t least,
                             std::int64_t most) const {
  if (node.kind != TomlNode::Kind::integer) wrong_type(node, what, "an integer");
  const std::int64_t value = std::get<std::int64_t>(node.value);
  if (value < least) fail(node.at, what + " = " + std::to_string(value) + " is less than " + std::to_string(least));
  if (value > most) fail(node.at, what + " = " + std::to_string(value) + " is more than " + std::to_string(most));
  return value;
}

double Reader::number(const TomlNode& node, const std::string& what, double least, double most) const {
  if (node.kind != TomlNode::Kind::integer && node.kind != TomlNode::Kind::floating) wrong_type(node, what, "a number");
  const double value = space::number_of(node.value).value();
  if (!std::isfinite(value)) fail(node.at, what + ": expected a finite number, got " + to_text(value));
  if (value < least) fail(node.at, what + " = " + to_text(node.value) + " is less than " + to_text(least));
  if (value > most) fail(node.at, what + " = " + to_text(node.value) + " is more than " + to_text(most));
  return value;
}

Value Reader::scalar(const TomlNode& node, const std::string& what) const {
  if (node.kind == TomlNode::Kind::table || node.kind == TomlNode::Kind::array || node.kind == TomlNode::Kind::time)
    wrong_type(node, what, "a number, a string or a boolean");
  if (node.kind == TomlNode::Kind::floating) number(node, what, std::numeric_limits<double>::lowest());
  return node.value;
}

Text Reader::expression(const TomlNode& node, const std::string& what) const {
  if (node.kind == TomlNode::Kind::text) return placed_text(node, what);
  if (node.is_table() || node.is_array() || node.kind == TomlNode::Kind::time)
    wrong_type(node, what, "a string or a number");
  // An infinite scalar is an argument like others, for example the value that a mask gives.
  const Value value = node.kind == TomlNode::Kind::floating ? node.value : scalar(node, what);
  return {expression_text(value), document.at(node.at)};
}

std::vector<Text> Reader::expressions(const TomlNode& node, const std::string& what) const {
  if (!node.is_array()) return {expression(node, what)};
  std::vector<Text> texts;
  for (const TomlNode& item : node.items) texts.push_back(expression(item, what));
  return texts;
}

std::vector<std::pair<std::string, Text>> Reader::named_texts(const TomlNode& node, const std::string& what) const {
  std::vector<std::pair<std::string, Text>> texts;
  for (const auto& [name, entry] : table(node, what).entries)
    texts.emplace_back(name, expression(entry, what + "." + name));
  return texts;
}

std::filesystem::path Reader::existing_file(const TomlNode& node, const std::string& what) const {
  const std::string name = text(node, what);
  if (name.empty()) fail(node.at, what + " is empty: give the path of a file");
  const std::filesystem::path path = (base_dir / name).lexically_normal();
  const std::string obstacle = check_files ? file_obstacle(path) : "";
  if (obstacle.empty()) return path;
  fail(node.at,
       what + " '" + name + "': " + path.string() + " " + obstacle + " (paths are relative to the spec's directory)");
}

std::filesystem::path Reader::existing_directory(const TomlNode& node, const std::string& what) const {
  const std::filesystem::path path = (base_dir / text(node, what)).lexically_normal();
  std::error_code ignored;
  if (check_files && !std::filesystem::is_directory(path, ignored))
    fail(node.at, what + ": " + path.string() + " is not a directory (paths are relative to the spec's directory)");
  return path;
}

std::size_t Reader::choice(const TomlNode& node, const std::string& what, const std::vector<std::string>& words) const {
  const std::string word = text(node, what);
  const auto at = std::find(words.begin(), words.end(), word);
  if (at != words.end()) return static_cast<std::size_t>(at - words.begin());
  fail(node.at, what + ": unknown word '" + word + "'" + base::did_you_mean(word, words) + "; one of " + joined(words));
}

void Reader::require_among(Position at, const std::string& name, const std::vector<std::string>& names,
                           const std::string& message) const {
  if (std::find(names.begin(), names.end(), name) == names.end()) fail(at, message + base::did_you_mean(name, names));
}

void Reader::check_identifier(Position at, const std::string& name, const std::string& what,
                              bool in_expressions) const {
  const std::string complaint = identifier_complaint(name, in_expressions);
  if (!complaint.empty()) document.complain(at, what + " '" + name + "' " + complaint);
}

std::vector<Text> read_words(const Reader& reader, const TomlNode& node, const std::string& what,
                             const std::string& remedy, bool may_be_empty) {
  std::vector<Text> words =
      node.is_array() ? reader.expressions(node, what)
                      : compiled(reader, [&] { return split_command(reader.placed_text(node, what), remedy); });
  if (!may_be_empty && (words.empty() || words.front().text.empty()))
    reader.fail(node.at, what + " is empty: give the words of a program's call");
  return words;
}

std::string identifier_complaint(const std::string& name, bool in_expressions) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  const bool valid = !name.empty() && letter(name.front()) &&
                     std::all_of(name.begin(), name.end(), [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
  if (!valid) return "is not a C identifier: letters, digits and _, not starting with a digit";
  const auto is_among = [&](const std::vector<std::string>& names) {
    return in_expressions && std::find(names.begin(), names.end(), name) != names.end();
  };
  if (is_among(
          {"and", "or", "not", "in", "if", "else", "true", "false", "True", "False", "device", "time_s", "time_ms"}))
    return "has its own meaning in expressions: choose another name";
  // An objective with this goal would get the other value.
  return is_among(quantity_names()) ? "is a quantity that xtune measures: choose another name" : "";
}

}  // namespace xtune::spec
