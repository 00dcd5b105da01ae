// JSON of runs; orders records by time and counts the seconds in which runs were active.
#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "core/space/value.hpp"
#include "core/store/best.hpp"
#include "core/store/objective.hpp"
#include "report/text/run_report.hpp"

namespace xtune::report {

using Json = nlohmann::ordered_json;

ActiveTime::ActiveTime(std::vector<std::pair<double, double>> intervals_ms) {
  std::sort(intervals_ms.begin(), intervals_ms.end());
  for (const auto& interval : intervals_ms) {
    if (merged_.empty() || interval.first > merged_.back().second)
      merged_.push_back(interval);
    else
      merged_.back().second = std::max(merged_.back().second, interval.second);
  }
}

ActiveTime ActiveTime::of(const std::vector<const store::Record*>& records) {
  std::map<std::string, std::pair<double, double>> attempts;
  for (const store::Record* record : records) {
    const auto end = static_cast<double>(record->unix_time_ms);
    const double begin = end - (record->bench_s + record->compile_s) * 1e3;
    const auto [entry, fresh] = attempts.try_emplace(record->attempt, begin, end);
    entry->second.first = std::min(entry->second.first, begin);
    entry->second.second = std::max(entry->second.second, end);
  }
  std::vector<std::pair<double, double>> intervals;
  for (const auto& [attempt, interval] : attempts) intervals.push_back(interval);
  return ActiveTime(std::move(intervals));
}

double ActiveTime::seconds_until(double unix_time_ms) const {
  double sum_ms = 0;
  for (const auto& [begin, end] : merged_)
    if (begin < unix_time_ms) sum_ms += std::min(end, unix_time_ms) - begin;
  return sum_ms * 1e-3;
}

Json counts_json(const std::map<Outcome, std::uint64_t>& counts) {
  auto json = Json::object();
  for (const auto& [outcome, count] : counts) json[to_string(outcome)] = count;
  return json;
}

Json failures_json(const run::TuneResult& result) {
  Json list = Json::array();
  for (const FailureGroup& group : failure_groups(result)) {
    Json json{{"outcome", to_string(group.outcome)}, {"count", group.count}, {"sanitizer", group.sanitizer}};
    json["config"] = group.example ? bindings_json(group.example->config) : Json();
    json["message"] = group.example ? Json(group.example->message) : Json();
    list.push_back(std::move(json));
  }
  return list;
}

Json trace_json(const spec::Spec& spec, const run::TuneResult& result) {
  std::vector<const store::Record*> records = store::RecordPointers(result.records);
  for (const store::Record& record : result.further)
    if (!record.finals.empty()) records.push_back(&record);
  std::stable_sort(records.begin(), records.end(),
                   [](const store::Record* a, const store::Record* b) { return store::is_earlier(*a, *b); });
  const ActiveTime active = ActiveTime::of(records);
  Json list = Json::array();
  for (const store::Record* record : records) {
    Json row{{"config", bindings_json(record->config)}, {"outcome", to_string(record->outcome)}};
    row["time_ms"] = nullptr;
    if (record->outcome == Outcome::ok)
      row["time_ms"] = measure::statistic(record->time_ms, spec.measure.statistic);
    else if (record->outcome == Outcome::pruned)
      row["time_ms"] = record->time_ms.min;
    row["seconds"] = active.seconds_until(static_cast<double>(record->unix_time_ms));
    if (record->time_ms.outliers > 0) row["outliers"] = record->time_ms.outliers;
    if (record->repeatable) row["repeatable"] = record->repeatable->same();
    if (!record->message.empty()) row["message"] = record->message;
    if (!record->proposed_by.empty()) row["proposed_by"] = record->proposed_by;
    if (!record->finals.empty()) row["finals"] = record->finals;
    list.push_back(std::move(row));
  }
  return list;
}

Json across_json(const spec::Spec& spec, const std::optional<store::AcrossChoice>& choice, std::size_t index) {
  Json json;
  json["rule"] = spec.objective.across == spec::ObjectiveSpec::Across::worst ? "worst" : "geomean";
  json["config"] = nullptr;
  if (!choice) return json;
  json["config"] = bindings_json(choice->config);
  json["score"] = choice->score;
  json["ratio"] = choice->ratios.at(index);
  json["time_ms"] = measure::statistic(choice->records.at(index)->time_ms, spec.measure.statistic);
  return json;
}

static Json finite_json(double value) { return std::isfinite(value) ? Json(value) : Json(); }

Json measured_json(const spec::Spec& spec, const store::Record& record) {
  Json json;
  json["config"] = bindings_json(record.config);
  json["time_ms"] = measure::statistic(record.time_ms, spec.measure.statistic);
  json["metrics"] = Json::object();
  for (const auto& [name, value] : store::metrics_of(spec, record)) json["metrics"][name] = finite_json(value);
  if (!spec.objective.goals.empty()) {
    const store::Objective objective(spec);
    const std::vector<double> values = objective.values(record);
    for (std::size_t i = 0; i < values.size(); ++i) json["objective"][objective.names()[i]] = finite_json(values[i]);
  }
  if (record.score) json["ranked_by"] = record.objective, json["score"] = *record.score;
  json["interval_ms"] = {record.time_ms.low, record.time_ms.high};
  if (record.time_ms.outliers > 0) json["outliers"] = record.time_ms.outliers;
  if (record.repeatable) {
    json["repeatable"] = record.repeatable->same();
    if (!record.repeatable->same()) json["repeatable_message"] = record.repeatable->text();
  }
  if (record.device.locked_clock_mhz > 0) json["locked_clock_mhz"] = record.device.locked_clock_mhz;
  const auto speedup = store::speedup(record, spec.measure.statistic);
  if (speedup && record.config != spec.validate.reference.config) {
    json["reference_ms"] = store::reference_ms(record, spec.measure.statistic).value();
    json["speedup"] = *speedup;
  }
  if (!record.tainted.empty()) json["tainted"] = record.tainted;
  if (device::is_emulated(record.device)) json["simulated"] = true;
  return json;
}

namespace {

Json default_json(const spec::Spec& spec, const run::TuneResult& result, const store::Standings& standings) {
  const store::Record* const found = record_of(result.default_config, standings, result.all());
  if (!found) return nullptr;
  if (found->outcome == Outcome::ok) return measured_json(spec, *found);
  Json json{{"config", bindings_json(found->config)}, {"outcome", to_string(found->outcome)}};
  if (found->outcome == Outcome::pruned) json["at_least_ms"] = found->time_ms.min;
  return json;
}

}  // namespace

Json run_json(const spec::Spec& spec, const run::TuneResult& result, std::size_t rows) {
  Json json;
  json["kernel"] = spec.kernel.name;
  json["device"] = {{"backend", result.device.backend},
                    {"name", result.device.name},
                    {"arch", result.device.arch},
                    {"index", result.device.index},
                    {"uuid", result.device.uuid}};
  json["problem"] = bindings_json(result.problem);
  if (const auto& prediction = result.prediction)
    json["prediction"] = {{"config", bindings_json(prediction->config)},
                          {"time_ms", prediction->time_ms ? Json(*prediction->time_ms) : Json()},
                          {"expected", expected_json(prediction->expected)},
                          {"source", prediction->source}};
  json["best"] = json["finals"] = nullptr;
  const store::Objective objective(spec);
  const store::Criterion criterion = objective.criterion(result.problem, result.device);
  const store::Standings standings(result.all(), criterion);
  const std::vector<const store::Record*>& order = standings.order();
  if (!standings.empty()) {
    json["best"] = measured_json(spec, standings.best());
    if (is_advised(result, standings.best())) json["best"]["proposed_by"] = "advisor";
    json["best"]["ties"] = Json::array();
    for (const store::Record* tie : standings.ties()) json["best"]["ties"].push_back(bindings_json(tie->config));
    if (const auto finals = finals_behind(result.further, standings.best(), criterion))
      json["finals"] = {{"finalists", finals->order().size()},
                        {"rounds", finals->rounds()},
                        {"decided", finals->decided()},
                        {"slowdown", result.slowdown},
                        {"drift", finals->drift()}};
  }
  json["default"] = default_json(spec, result, standings);
  json["top"] = Json::array();
  if (spec.objective.goals.size() == 2) {
    json["pareto"] = Json::array();
    for (const store::Record* record : objective.pareto(order)) json["pareto"].push_back(measured_json(spec, *record));
  }
  for (std::size_t i = 0; i < std::min(rows, order.size()); ++i) {
    json["top"].push_back(measured_json(spec, *order[i]));
    const auto ratio = standings.by_time() ? standings.ratio(*order[i]) : std::nullopt;
    if (!ratio) continue;
    json["top"].back()["vs_best"] = ratio->value;
    json["top"].back()["vs_best_interval"] = {ratio->low, ratio->high};
  }
  json["counts"] = counts_json(result.counts);
  json["failures"] = failures_json(result);
  json["trace"] = trace_json(spec, result);
  json["seconds"] = {{"total", result.total_s},
                     {"compile_cpu", result.compile_cpu_s},
                     {"compile_wall", result.compile_wall_s},
                     {"device_busy", result.device_busy_s}};
  if (const auto& advisor = result.advisor)
    json["advisor"] = {{"questions", advisor->questions},
                       {"proposed", advisor->proposed},
                       {"refused", advisor->refused},
                       {"tried", advisor->tried}};
  json["from_store"] = result.from_store;
  if (result.from_peers) json["from_peers"] = result.from_peers;
  json["space"] = result.space_size;
  json["interrupted"] = result.interrupted;
  json["out_of_time"] = result.out_of_time;
  return json;
}

namespace {

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

Json expected_json(const std::optional<ExpectedTime>& expected) {
  if (!expected) return nullptr;
  return {{"time_ms", expected->time_ms}, {"interval_ms", {expected->low_ms, expected->high_ms}}};
}

std::vector<Json> best_rows(const std::vector<Json>& answers) {
  std::vector<Json> rows;
  for (const Json& answer : answers) {
    Json row{{"kernel", answer.at("kernel")}, {"problem", answer.at("problem")}, {"match", answer.at("match")}};
    if (!answer.at("best").is_null()) {
      add_measured(row, answer.at("best"));
      row["measured_for"] = answer.at("measured_for");
      row["measured_on"] = answer.at("measured_on");
      std::string changes, failures;
      for (const Json& line : answer.at("differences"))
        changes += (changes.empty() ? "" : "; ") + line.get<std::string>();
      for (const Json& failure : answer.at("failed_elsewhere"))
        failures += (failures.empty() ? "" : "; ") + failure.at("outcome").get<std::string>() + " for " +
                    space::shown_text(space::bindings_from_json(nlohmann::json(failure.at("problem"))));
      row["stale"] = !changes.empty();
      row["differences"] = changes;
      row["failed_elsewhere"] = failures;
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace xtune::report
