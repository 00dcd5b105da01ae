// Tables and paragraphs in the width of a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.hpp"

namespace xtune::report {

/// The width of a text in columns: its code points, without marks of styles (base/text.hpp).
std::size_t columns_of(std::string_view text);

using base::counted;

/// Appends the words of a paragraph and a line end. `column` is the current position in the first line; further lines
/// begin at `hang`, and none is longer than `width`, as far as the words allow. line_end ends all lines except the
/// last. `...`, which is a command to copy, is one word.
void add_wrapped(std::string& text, std::string_view paragraph, std::size_t column, std::size_t hang, std::size_t width,
                 std::string_view line_end = "\n");

/// Wraps the lines that are longer than `width`. Continuation lines are indented to the text after the label if the
/// line begins with one ("best: ..."), else by two more than the line itself. A line of code whose next line has a
/// caret below a part of it stays as it is.
std::string wrapped_lines(const std::string& text, std::size_t width);

/// Columns are as wide as their widest cell; cells that are numbers (with an optional unit) align right, the others
/// left. Widths count code points. Each cell is put on one line. Rows shorter than the header are padded.
std::string render_table(const std::vector<std::string>& header, const std::vector<std::vector<std::string>>& rows);

/// A table that is fitted to a width.
struct FittedTable {
  enum class Kind {
    fixed,
    parameter,  ///< of a configuration; listed once below the table if it has one value in all rows
    text,       ///< may be removed from the table: its cells are then on separate lines below their rows
    remark,     ///< a text that is omitted if it is empty in all rows; "as above" if it repeats that of the row before
    context,    ///< a text that is omitted if it is the same in all rows
  };
  struct Column {
    std::string title;
    Kind kind = Kind::fixed;
  };
  std::vector<Column> columns;  ///< the fixed ones, then parameters, then texts
  std::vector<std::vector<std::string>> rows = {};
  std::string end = {};  ///< a line below the rows: "... 8 more"
};

/// If the table is wider than `width`, texts are removed from it, the last one first, and finally the parameters, as
/// NAME=value.
std::string render_fitted(const FittedTable& table, std::size_t width);

}  // namespace xtune::report
