// Orders records by time and counts the seconds in which runs were active.
#include "report/trace.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "report/run_report.hpp"

namespace xtune::report {

ActiveTime::ActiveTime(std::vector<std::pair<double, double>> intervals_ms) {
  std::sort(intervals_ms.begin(), intervals_ms.end());
  for (const auto& interval : intervals_ms) {
    if (merged_.empty() || interval.first > merged_.back().second)
      merged_.push_back(interval);
    else
      merged_.back().second = std::max(merged_.back().second, interval.second);
  }
}

ActiveTime ActiveTime::of(const std::vector<const record::Record*>& records) {
  std::map<std::string, std::pair<double, double>> attempts;
  for (const record::Record* record : records) {
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

nlohmann::ordered_json trace_json(const spec::Spec& spec, const run::TuneResult& result) {
  std::vector<const record::Record*> records;
  for (const record::Record& record : result.records) records.push_back(&record);
  for (const record::Record& record : result.further)
    if (!record.finals.empty()) records.push_back(&record);
  std::stable_sort(records.begin(), records.end(),
                   [](const record::Record* a, const record::Record* b) { return record::is_earlier(*a, *b); });
  const ActiveTime active = ActiveTime::of(records);
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const record::Record* record : records) {
    nlohmann::ordered_json row{{"config", bindings_json(record->config)}, {"outcome", to_string(record->outcome)}};
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

}  // namespace xtune::report
