// Tables as comma-separated values.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace xtune::base {

/// In double quotes, those within it doubled (RFC 4180).
std::string csv_quoted(std::string_view text);

/// RFC 4180, but with lines that end in "\n": a header, then a line for each object. Members of objects inside become
/// columns of their own, "config.BLOCK"; columns are in the order of their first appearance, and those that an object
/// lacks, or has as null, are empty. Lists are JSON texts; control characters of texts are escaped (printable_lines).
/// Empty: no objects.
std::string csv_text(const std::vector<nlohmann::ordered_json>& objects);

}  // namespace xtune::base
