// The tables of `run` and `best` as rows of a CSV table, from their JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

namespace xtune::report {

/// The best configurations of each case (run_json's top): kernel, device, problem, rank, configuration, times and
/// metrics. A spec that failed is a row with its error.
std::vector<nlohmann::ordered_json> run_rows(const std::vector<nlohmann::ordered_json>& answers);

/// One row for each problem: the configuration that is used, how it fits, and where it was measured.
std::vector<nlohmann::ordered_json> best_rows(const std::vector<nlohmann::ordered_json>& answers);

}  // namespace xtune::report
