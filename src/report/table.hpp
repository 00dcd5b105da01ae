// Plain text tables for terminals and logs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace xtune::report {

/// Columns are as wide as their widest cell; cells that are numbers (an optional unit behind) align right, the others
/// left. Widths count code points. Cells are put on one line. Rows shorter than the header are padded.
std::string render_table(const std::vector<std::string>& header, const std::vector<std::vector<std::string>>& rows);

/// What a value may hold, so that it stays one line of what is printed: line breaks and tabs as \n and \t, other
/// control characters as `printable` has them.
std::string one_line(std::string_view text);

}  // namespace xtune::report
