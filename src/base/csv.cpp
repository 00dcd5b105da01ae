// Flattens objects into columns.
#include "base/csv.hpp"

#include <re2/re2.h>

#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/text.hpp"

namespace xtune::base {
namespace {

using Json = nlohmann::ordered_json;

std::string field(const std::string& text) {
  return text.find_first_of(",\"\r\n") == std::string::npos ? text : csv_quoted(text);
}

/// Text that a spreadsheet would run as a formula gets an apostrophe in front, which makes it text: what begins with a
/// sign (the full-width ones too), a tab or a line end, and is not a number (OWASP, "CSV Injection").
std::string inert(std::string text) {
  static const RE2 formula("[=+@\\t\\r\\n-]|＝|＋|－|＠"),
      number("[+-]?([0-9]+\\.?[0-9]*|\\.[0-9]+)([eE][+-]?[0-9]+)?");
  re2::StringPiece rest = text;
  return RE2::Consume(&rest, formula) && !RE2::FullMatch(text, number) ? "'" + text : text;
}

std::string cell_text(const Json& value) {
  if (value.is_null()) return "";
  if (value.is_string()) return inert(printable_lines(value.get<std::string>()));
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

class CsvColumns {
 public:
  void add(const Json& object) {
    cells_.emplace_back();
    add_members(object, "");
  }

  std::string text() const {
    std::string text;
    for (std::size_t i = 0; i < names_.size(); ++i) text += (i ? "," : "") + field(inert(names_[i]));
    if (!names_.empty()) text += "\n";
    for (const auto& row : cells_) {
      for (std::size_t i = 0; i < names_.size(); ++i) {
        const auto cell = row.find(i);
        text += (i ? "," : "") + (cell == row.end() ? "" : field(cell->second));
      }
      text += "\n";
    }
    return text;
  }

 private:
  void add_members(const Json& object, const std::string& before) {
    for (const auto& [name, value] : object.items()) {
      if (value.is_object()) {
        add_members(value, before + name + ".");
        continue;
      }
      const auto [column, fresh] = columns_.try_emplace(before + name, names_.size());
      if (fresh) names_.push_back(before + name);
      cells_.back()[column->second] = cell_text(value);
    }
  }

  std::vector<std::string> names_;
  std::map<std::string, std::size_t> columns_;
  std::vector<std::map<std::size_t, std::string>> cells_;
};

}  // namespace

std::string csv_quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) result += c == '"' ? "\"\"" : std::string(1, c);
  return result + "\"";
}

std::string csv_text(const std::vector<Json>& objects) {
  CsvColumns columns;
  for (const Json& object : objects) columns.add(object);
  return columns.text();
}

}  // namespace xtune::base
