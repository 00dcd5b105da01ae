// Plain text tables for terminals and logs.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace xtune::report {

/// Columns are as wide as their widest cell; cells that are numbers (an optional unit behind) align right, the others
/// left. Widths count code points. Cells are put on one line. Rows shorter than the header are padded.
std::string render_table(const std::vector<std::string>& header, const std::vector<std::vector<std::string>>& rows);

/// A table that fits its reader's columns.
struct FittedTable {
  /// A column that may leave the table: its cells then stand below their rows, on lines of their own.
  struct Text {
    std::string title;
    std::vector<std::string> cells;
  };
  std::vector<std::string> header;               ///< of the columns that stay
  std::vector<std::vector<std::string>> rows;    ///< cells of those
  std::vector<std::string> names;                ///< of parameters, which are columns too
  std::vector<std::vector<std::string>> values;  ///< of the parameters, by row
  std::vector<Text> texts;                       ///< behind them
  std::string end = {};                          ///< a line below the rows: "... 8 more"
};

/// Parameters that have one value in all rows are named once below the table. Where the rest is wider than `width`,
/// texts leave it, the last one first, and at last the parameters, as NAME=value.
std::string render_fitted(const FittedTable& table, std::size_t width);

}  // namespace xtune::report
