// Selects the columns of tables from answers.
#include "report/answer_rows.hpp"

#include <nlohmann/json.hpp>

namespace xtune::report {
namespace {

using Json = nlohmann::ordered_json;

/// measured: in the form of measured_json.
void add_measured(Json& row, const Json& measured) {
  row["config"] = measured.at("config");
  row["time_ms"] = measured.at("time_ms");
  row["low_ms"] = measured.at("interval_ms").at(0);
  row["high_ms"] = measured.at("interval_ms").at(1);
  for (const char* name : {"reference_ms", "speedup"})
    if (measured.contains(name)) row[name] = measured.at(name);
  row["metrics"] = measured.at("metrics");
  if (measured.contains("objective")) row["objective"] = measured.at("objective");
  if (measured.contains("tainted")) row["tainted"] = measured.at("tainted");
}

}  // namespace

std::vector<Json> run_rows(const std::vector<Json>& answers) {
  std::vector<Json> rows;
  for (const Json& answer : answers) {
    Json first;
    if (answer.contains("spec")) first["spec"] = answer.at("spec");
    if (answer.contains("error")) {
      first["error"] = answer.at("error").at("message");
      rows.push_back(std::move(first));
      continue;
    }
    first["kernel"] = answer.at("kernel");
    first["device"] = answer.at("device").at("name");
    first["problem"] = answer.at("problem");
    std::size_t rank = 0;
    for (const Json& measured : answer.at("top")) {
      Json row = first;
      row["rank"] = ++rank;
      add_measured(row, measured);
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

std::vector<Json> best_rows(const std::vector<Json>& answers) {
  std::vector<Json> rows;
  for (const Json& answer : answers) {
    Json row{{"kernel", answer.at("kernel")}, {"problem", answer.at("problem")}, {"match", answer.at("match")}};
    if (!answer.at("best").is_null()) {
      add_measured(row, answer.at("best"));
      row["measured_for"] = answer.at("measured_for");
      row["measured_on"] = answer.at("measured_on");
      row["stale"] = !answer.at("stale").is_null();
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace xtune::report
