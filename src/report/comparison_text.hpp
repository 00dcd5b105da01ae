// A comparison as text, JSON and rows of a table.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "report/comparison.hpp"

namespace xtune::report {

/// rows: configurations that are listed of each case. Lines are at most `width` columns, as far as words allow it.
std::string comparison_text(const Comparisons& comparisons, std::size_t rows, std::size_t width);
/// {"cases", "only_before", "only_after", "summary"}
nlohmann::ordered_json comparison_json(const Comparisons& comparisons, std::size_t rows);
/// A row for each case.
std::vector<nlohmann::ordered_json> comparison_rows(const Comparisons& comparisons);

/// Records as far as `xtune run --format json` prints them: configurations, outcomes, times and intervals, but no keys.
/// An answer's own time is its record's. Throws Error(invalid_argument), opening with `name`, for JSON that is not such
/// result.
std::vector<record::Record> records_of_result(const nlohmann::json& result, const std::string& name);

}  // namespace xtune::report
