// Plain text tables for terminals and logs.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace xtune::report {

/// Columns are as wide as their widest cell; cells that are numbers (with an optional unit) align right, the others
/// left. Widths count code points. Each cell is put on one line. Rows shorter than the header are padded.
std::string render_table(const std::vector<std::string>& header, const std::vector<std::vector<std::string>>& rows);

/// A table that is fitted to a width.
struct FittedTable {
  /// A column that may be removed from the table: its cells are then on separate lines below their rows.
  struct Text {
    std::string title;
    std::vector<std::string> cells;
  };
  std::vector<std::string> header;               ///< of the columns that stay
  std::vector<std::vector<std::string>> rows;    ///< cells of those
  std::vector<std::string> names;                ///< of parameters, which are columns too
  std::vector<std::vector<std::string>> values;  ///< of the parameters, by row
  std::vector<Text> texts;                       ///< columns after the parameters
  std::string end = {};                          ///< a line below the rows: "... 8 more"
};

/// Parameters that have one value in all rows are listed once below the table. If the rest is wider than `width`, texts
/// are removed from it, the last one first, and finally the parameters, as NAME=value.
std::string render_fitted(const FittedTable& table, std::size_t width);

}  // namespace xtune::report
