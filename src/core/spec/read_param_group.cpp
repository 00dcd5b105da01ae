// [space.params] "A, B" = [[1, 2], [3, 4]]: parameters whose values belong together, as one table of rows.
#include <algorithm>
#include <set>

#include "base/named.hpp"
#include "base/text.hpp"
#include "base/trimmed.hpp"
#include "core/space/bindings_text.hpp"
#include "core/space/value.hpp"
#include "core/spec/reader.hpp"

namespace xtune::spec {

namespace {

constexpr std::size_t max_text = 1 << 16;  // of the rows as an expression: what an expression may have

/// The value in the expression language.
std::string literal(const Value& value) {
  const auto* const text = std::get_if<std::string>(&value);
  if (!text) return to_text(value);
  std::string quoted = "'";
  for (const char c : *text) {
    if (c == '\\' || c == '\'') quoted += '\\';
    quoted += c == '\n' ? std::string("\\n") : std::string(1, c);
  }
  return quoted + "'";
}

/// Reads one group: its parameters, and the constraint that ties them.
class GroupReader {
 public:
  GroupReader(Reader& reader, Position at, const std::string& key)
      : reader_(reader), at_(at), names_(parameter_names(key)) {}

  std::vector<space::Parameter> read(const TomlNode& node) {
    for (const std::string& name : names_) parameters_.push_back({name, {}, true});
    const TomlNode* rows = &node;
    if (node.is_table()) {
      reader_.check_keys(node, "the values of " + title(), {"values", "compile_time"});
      rows = node.find("values");
      if (rows == nullptr) reader_.fail(node.at, title() + " has no values");
      if (const TomlNode* compile_time = node.find("compile_time"))
        for (space::Parameter& parameter : parameters_)
          parameter.compile_time = reader_.boolean(*compile_time, title() + ".compile_time");
    }
    if (reader_.array(*rows, title()).items.empty()) reader_.fail(rows->at, title() + " has an empty list of rows");
    for (const TomlNode& row : rows->items) {
      read_row(row);
      if (constraint_.size() > max_text)
        reader_.fail(row.at, title() + " has too many rows: up to this one they take 64 KiB as an expression. " +
                                 "List the configurations with [space] configs instead");
    }
    return parameters_;
  }

  /// "(A == 1 and B == 2) or (A == 3 and B == 4)", at the place of the key.
  Text constraint() const { return {constraint_, reader_.document.at(at_)}; }

 private:
  std::string title() const {
    std::string list;
    for (const std::string& name : names_) list += (list.empty() ? "" : ", ") + name;
    return "\"" + list + "\"";
  }

  void read_row(const TomlNode& row) {
    if (!row.is_array() || row.items.size() != names_.size())
      reader_.fail(row.at, title() + ": expected a list of " + std::to_string(names_.size()) +
                               " values, one for each name, got " +
                               (row.is_array() ? "one of " + std::to_string(row.items.size()) : kind_name(row.kind)));
    std::string text;
    for (std::size_t i = 0; i < names_.size(); ++i) {
      Value value = reader_.scalar(row.items[i], names_[i]);
      std::vector<Value>& values = parameters_[i].values;
      if (!values.empty() && value.index() != values.front().index())
        reader_.fail(row.items[i].at, names_[i] + " mixes " + space::type_name(values.front()) + " and " +
                                          space::type_name(value) + " values: write all of them as one type");
      text += (text.empty() ? "" : " and ") + names_[i] + " == " + literal(value);
      if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(std::move(value));
    }
    if (!rows_.insert(text).second) reader_.fail(row.at, title() + " has this row twice");
    constraint_ += (constraint_.empty() ? "(" : " or (") + text + ")";
  }

  Reader& reader_;
  Position at_;
  std::vector<std::string> names_;
  std::vector<space::Parameter> parameters_;
  std::set<std::string> rows_;
  std::string constraint_;
};

}  // namespace

std::vector<std::string> parameter_names(const std::string& key) {
  std::vector<std::string> names = base::split(key, ',');
  for (std::string& name : names) name = std::string(base::trimmed(name));
  return names;
}

std::vector<space::Parameter> read_param_group(Reader& reader, Position at, const std::string& key,
                                               const TomlNode& node) {
  GroupReader group(reader, at, key);
  std::vector<space::Parameter> parameters = group.read(node);
  reader.spec.constraints.push_back(group.constraint());
  return parameters;
}

}  // namespace xtune::spec
