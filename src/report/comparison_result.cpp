// Reads what `xtune run --format json` printed.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "core/record/record_json.hpp"
#include "report/comparison_text.hpp"
#include "xtune/error.hpp"

namespace xtune::report {
namespace {

std::optional<Outcome> outcome_of(const std::string& word) {
  for (const Outcome outcome : {Outcome::ok, Outcome::rejected, Outcome::compile_failed, Outcome::launch_failed,
                                Outcome::wrong_result, Outcome::timed_out, Outcome::crashed, Outcome::pruned})
    if (word == to_string(outcome)) return outcome;
  return std::nullopt;
}

/// One number is a summary without an interval.
void set_time(record::Record& record, double time_ms) {
  record.time_ms.count = 1;
  record.time_ms.min = record.time_ms.median = record.time_ms.mean = record.time_ms.inlier_mean = record.time_ms.max =
      time_ms;
  record.time_ms.low = record.time_ms.high = time_ms;
}

void set_interval(record::Record& record, const nlohmann::json& measured) {
  set_time(record, measured.at("time_ms"));
  const auto interval = measured.find("interval_ms");
  if (interval == measured.end() || !interval->is_array() || interval->size() != 2) return;
  record.time_ms.low = interval->at(0);
  record.time_ms.high = interval->at(1);
}

std::vector<record::Record> records_of_case(const nlohmann::json& result) {
  record::Record common;
  common.kernel = result.at("kernel");
  common.problem = record::bindings_from_json(result.at("problem"));
  const nlohmann::json& device = result.at("device");
  common.device.name = device.at("name");
  common.device.backend = device.at("backend");
  common.device.arch = device.at("arch");
  std::map<Bindings, record::Record> by_config;
  const auto record_for = [&](const nlohmann::json& json) -> record::Record& {
    const Bindings config = record::bindings_from_json(json.at("config"));
    record::Record& record = by_config.try_emplace(config, common).first->second;
    record.config = config;
    return record;
  };
  for (const nlohmann::json& tried : result.at("trace")) {
    if (tried.contains("finals")) continue;
    record::Record& record = record_for(tried);
    const auto outcome = outcome_of(tried.at("outcome"));
    record.outcome = outcome.value_or(Outcome::crashed);
    record.message = tried.value("message", "");
    if (tried.at("time_ms").is_number()) set_time(record, tried.at("time_ms"));
  }
  for (const nlohmann::json& measured : result.at("top")) set_interval(record_for(measured), measured);
  std::vector<record::Record> records;
  if (result.at("best").is_object()) set_interval(record_for(result.at("best")), result.at("best"));
  for (auto& [config, record] : by_config) {
    record.key = "result " + std::to_string(records.size());
    records.push_back(std::move(record));
  }
  return records;
}

}  // namespace

std::vector<record::Record> records_of_result(const nlohmann::json& result, const std::string& name) {
  std::vector<record::Record> records;
  try {
    if (!result.is_array()) return records_of_case(result);
    for (const nlohmann::json& one : result) {
      if (one.contains("error")) continue;  // a case that failed has no results
      std::vector<record::Record> own = records_of_case(one);
      std::move(own.begin(), own.end(), std::back_inserter(records));
    }
  } catch (const nlohmann::json::exception&) {
    throw Error(ErrorKind::invalid_argument,
                base::printable(name) +
                    ": no result of `xtune run --format json`: it lacks kernel, problem, device, trace, "
                    "top or best");
  }
  return records;
}

}  // namespace xtune::report
