// Comparisons of records, as text and as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "core/store/compare.hpp"

namespace xtune::report {

/// rows: configurations that are listed of each case.
std::string comparison_text(const store::Comparisons& comparisons, std::size_t rows);
/// {"cases", "only_before", "only_after", "summary"}
nlohmann::ordered_json comparison_json(const store::Comparisons& comparisons, std::size_t rows);
/// A row for each case.
std::vector<nlohmann::ordered_json> comparison_rows(const store::Comparisons& comparisons);

/// A table of the values that occur among the best.
std::string top_values_text(const store::TopValues& top);
/// {"share", "measured", "best", "parameters": {NAME: [{"value", "best", "measured"}, ...]}}: shares of the best, and
/// of all that were measured.
nlohmann::ordered_json top_values_json(const store::TopValues& top);

}  // namespace xtune::report
