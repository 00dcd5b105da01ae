// Tables as comma-separated values.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace xtune::base {

/// The text in double quotes; double quotes in it are doubled (RFC 4180).
std::string csv_quoted(std::string_view text);

/// RFC 4180, but with lines that end in "\n": a header, then a line for each object. Members of nested objects become
/// separate columns, such as "config.BLOCK". Columns are in the order of their first appearance. Missing and null
/// members are empty. Lists are JSON texts; control characters of texts are escaped (printable_lines). Text that a
/// spreadsheet would run as a formula begins with an apostrophe. Returns an empty text for no objects.
std::string csv_text(const std::vector<nlohmann::ordered_json>& objects);

}  // namespace xtune::base
