// CSV of configurations, read and written.
#include "core/spec/configs_csv.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <unordered_map>
#include <unordered_set>

#include "base/csv.hpp"
#include "base/random.hpp"
#include "base/text.hpp"
#include "xtune/error.hpp"

namespace xtune::spec {
namespace {

struct CsvField {
  std::string text;
  std::size_t line = 1, column = 1;  ///< columns in bytes
};

class Table {
 public:
  Table(std::string_view text, const std::string& name) : text_(text), name_(name) {
    if (text_.starts_with("\xEF\xBB\xBF")) text_.remove_prefix(3);  // spreadsheets write a byte order mark
  }

  [[noreturn]] void fail(const CsvField& at, const std::string& why) const {
    throw Error(ErrorKind::invalid_spec, fmt::format("{}:{}:{}: {}", name_, at.line, at.column, why));
  }

  /// The fields of the next line that is not empty; none at the end of the text.
  std::vector<CsvField> next() {
    while (!text_.empty() && (text_.front() == '\n' || text_.front() == '\r')) skip_newline();
    std::vector<CsvField> fields;
    if (text_.empty()) return fields;
    std::size_t column = 1;
    for (;;) {
      fields.push_back(field(column));
      if (text_.empty() || text_.front() != ',') break;
      text_.remove_prefix(1);
      ++column;
    }
    if (!text_.empty()) skip_newline();
    return fields;
  }

 private:
  void skip_newline() {
    if (text_.front() == '\n') ++line_;
    text_.remove_prefix(1);
  }

  CsvField field(std::size_t& column) {
    CsvField found{{}, line_, column};
    if (text_.starts_with('"')) return csv_field(std::move(found), column);
    const std::size_t end = std::min(text_.find_first_of(",\r\n"), text_.size());
    std::string_view cell = text_.substr(0, end);
    text_.remove_prefix(end);
    column += end;
    cell.remove_prefix(std::min(cell.find_first_not_of(" \t"), cell.size()));
    cell = cell.substr(0, cell.find_last_not_of(" \t") + 1);
    found.text = cell;
    return found;
  }

  CsvField csv_field(CsvField found, std::size_t& column) {
    text_.remove_prefix(1);
    ++column;
    for (;; ++column) {
      if (text_.empty()) fail(found, "the quote is never closed");
      const char c = text_.front();
      text_.remove_prefix(1);
      if (c == '\n') ++line_;
      if (c != '"') {
        found.text += c;
      } else if (text_.starts_with('"')) {
        found.text += '"';
        text_.remove_prefix(1);
        ++column;
      } else {
        break;
      }
    }
    ++column;
    if (!text_.empty() && text_.find_first_of(",\r\n") != 0) fail(found, "text after the closing quote");
    return found;
  }

  std::string_view text_;
  const std::string& name_;
  std::size_t line_ = 1;
};

/// Finds a parameter's values by their texts.
class ValueFinder {
 public:
  explicit ValueFinder(const space::Parameter& parameter) : parameter_(parameter) {
    for (std::uint32_t i = 0; i < parameter.values.size(); ++i) by_text_.emplace(to_text(parameter.values[i]), i);
  }

  std::optional<std::uint32_t> find(const std::string& text) const {
    if (const auto found = by_text_.find(text); found != by_text_.end()) return found->second;
    if (std::holds_alternative<std::string>(parameter_.values.front())) return std::nullopt;
    // 16.0 for 16, 1e2 for 100.0, and 1 for true, as other programs write them.
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    for (std::uint32_t i = 0; i < parameter_.values.size(); ++i)
      if (space::number_or_flag(parameter_.values[i]) == number) return i;
    return std::nullopt;
  }

 private:
  const space::Parameter& parameter_;
  std::unordered_map<std::string, std::uint32_t> by_text_;
};

/// The parameter of each column.
std::vector<std::size_t> read_header(Table& table, const std::vector<space::Parameter>& parameters) {
  std::vector<std::string> names;
  for (const space::Parameter& parameter : parameters) names.push_back(parameter.name);
  const std::vector<CsvField> header = table.next();
  if (header.empty()) table.fail({}, "the file is empty: its first line names the parameters");
  std::vector<std::size_t> columns;
  for (const CsvField& field : header) {
    const auto found = std::find(names.begin(), names.end(), field.text);
    if (found == names.end())
      table.fail(field, "'" + base::printable(field.text, 80) + "' is not a parameter of [space.params]" +
                            base::did_you_mean(field.text, names));
    const auto column = static_cast<std::size_t>(found - names.begin());
    if (std::find(columns.begin(), columns.end(), column) != columns.end())
      table.fail(field, "the parameter " + field.text + " has two columns");
    columns.push_back(column);
  }
  for (std::size_t i = 0; i < names.size(); ++i)
    if (std::find(columns.begin(), columns.end(), i) == columns.end())
      table.fail(header.front(), "there is no column for the parameter " + names[i]);
  return columns;
}

using Rows = std::vector<std::vector<std::uint32_t>>;

/// The numbers of distinct rows, found by their contents.
class SeenRows {
 public:
  explicit SeenRows(const Rows& rows) : numbers_(16, Hash{&rows}, Equal{&rows}) {}
  /// False: an earlier row is equal.
  bool insert(std::size_t number) { return numbers_.insert(number).second; }

 private:
  struct Hash {
    const Rows* rows;
    std::size_t operator()(std::size_t number) const {
      std::uint64_t hash = 0;
      for (const std::uint32_t value : (*rows)[number]) hash = base::mix64(hash ^ value);
      return hash;
    }
  };
  struct Equal {
    const Rows* rows;
    bool operator()(std::size_t a, std::size_t b) const { return (*rows)[a] == (*rows)[b]; }
  };
  std::unordered_set<std::size_t, Hash, Equal> numbers_;
};

std::string csv_field(const std::string& text) {
  const bool plain = !text.empty() && text.find_first_of(",\"\r\n \t") == std::string::npos;
  return plain ? text : base::csv_quoted(text);
}

}  // namespace

Rows parse_configs(const std::string& text, const std::string& name, const std::vector<space::Parameter>& parameters) {
  Table table(text, name);
  const std::vector<std::size_t> columns = read_header(table, parameters);
  std::vector<ValueFinder> finders;
  for (const space::Parameter& parameter : parameters) finders.emplace_back(parameter);
  Rows rows;
  SeenRows seen(rows);
  for (std::vector<CsvField> line = table.next(); !line.empty(); line = table.next()) {
    if (line.size() != columns.size())
      table.fail(line.front(), fmt::format("{} values for {} parameters", line.size(), columns.size()));
    std::vector<std::uint32_t> row(columns.size());
    for (std::size_t i = 0; i < line.size(); ++i) {
      const auto index = finders[columns[i]].find(line[i].text);
      const space::Parameter& parameter = parameters[columns[i]];
      if (!index) {
        std::vector<std::string> texts;
        for (const Value& value : parameter.values) texts.push_back(to_text(value));
        table.fail(line[i], "'" + base::printable(line[i].text, 80) + "' is not a value of " + parameter.name +
                                base::did_you_mean(line[i].text, texts));
      }
      row[columns[i]] = *index;
    }
    rows.push_back(std::move(row));
    if (!seen.insert(rows.size() - 1)) table.fail(line.front(), "the configuration is listed twice");
  }
  if (rows.empty()) table.fail({}, "the file lists no configuration: give one a line after the names");
  return rows;
}

std::string configs_text(const space::Space& space) {
  std::string text;
  for (const space::Parameter& parameter : space.parameters())
    text += (text.empty() ? "" : ",") + csv_field(parameter.name);
  text += "\n";
  std::vector<std::vector<std::string>> cells;
  for (const space::Parameter& parameter : space.parameters()) {
    auto& values = cells.emplace_back();
    for (const Value& value : parameter.values) values.push_back(csv_field(to_text(value)));
  }
  for (std::uint64_t index = 0; index < space.size(); ++index) {
    const std::vector<std::uint32_t> row = space.value_indices(index);
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i > 0) text += ',';
      text += cells[i][row[i]];
    }
    text += '\n';
  }
  return text;
}

}  // namespace xtune::spec
