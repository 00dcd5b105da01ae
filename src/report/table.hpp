// Plain text tables for terminals and logs.
#pragma once

#include <string>
#include <vector>

namespace xtune::report {

/// Columns are as wide as their widest cell; cells that are numbers (an optional unit behind) align right, the others
/// left. Widths count code points. Cells are put on one line. Rows shorter than the header are padded.
std::string render_table(const std::vector<std::string>& header, const std::vector<std::vector<std::string>>& rows);

}  // namespace xtune::report
