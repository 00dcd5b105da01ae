// Tables as comma-separated values.
#pragma once

#include <cstddef>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace xtune::base {

/// The text in double quotes; double quotes in it are doubled (RFC 4180).
std::string csv_quoted(std::string_view text);

/// A table whose columns are known, line by line: RFC 4180, but with lines that end in "\n". Members of nested objects
/// have separate columns, such as "config.BLOCK". Missing and null members are empty. Lists are JSON texts; control
/// characters of texts are escaped (printable_lines). Text that a spreadsheet would run as a formula begins with an
/// apostrophe.
class CsvTable {
 public:
  explicit CsvTable(std::vector<std::string> columns);
  std::string header() const;
  std::string line(const nlohmann::ordered_json& object) const;  ///< of its members that have columns

 private:
  std::vector<std::string> columns_;
  std::map<std::string, std::size_t> places_;
};

/// A whole table: a header, then a line for each object. Columns are in the order of their first appearance. Returns an
/// empty text for no objects.
std::string csv_text(const std::vector<nlohmann::ordered_json>& objects);

}  // namespace xtune::base
