// Flattens objects into columns.
#include "base/csv.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <re2/re2.h>

#include <nlohmann/json.hpp>
#include <set>
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

/// Calls visit(column, value) for each member.
template <class Visit>
void each_cell(const Json& object, const std::string& before, const Visit& visit) {
  for (const auto& [name, value] : object.items())
    if (value.is_object())
      each_cell(value, before + name + ".", visit);
    else
      visit(before + name, value);
}

}  // namespace

std::string csv_quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) result += c == '"' ? "\"\"" : std::string(1, c);
  return result + "\"";
}

CsvTable::CsvTable(std::vector<std::string> columns) : columns_(std::move(columns)) {
  for (const std::string& column : columns_) places_.emplace(column, places_.size());
}

std::string CsvTable::header() const {
  std::vector<std::string> names;
  for (const std::string& column : columns_) names.push_back(field(inert(column)));
  return fmt::format("{}\n", fmt::join(names, ","));
}

std::string CsvTable::line(const Json& object) const {
  std::vector<std::string> cells(columns_.size());
  each_cell(object, "", [&](const std::string& column, const Json& value) {
    if (const auto place = places_.find(column); place != places_.end()) cells[place->second] = field(cell_text(value));
  });
  return fmt::format("{}\n", fmt::join(cells, ","));
}

std::string csv_text(const std::vector<Json>& objects) {
  std::vector<std::string> columns;
  std::set<std::string> known;
  for (const Json& object : objects)
    each_cell(object, "", [&](const std::string& column, const Json&) {
      if (known.insert(column).second) columns.push_back(column);
    });
  if (columns.empty()) return "";
  const CsvTable table(std::move(columns));
  std::string text = table.header();
  for (const Json& object : objects) text += table.line(object);
  return text;
}

}  // namespace xtune::base
