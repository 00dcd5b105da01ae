// Collects and ranks the records of a report.
#include "report/report_data.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "report/page_parts.hpp"

namespace xtune::report {

ReportCase make_report_case(std::shared_ptr<const spec::Spec> spec, Bindings problem, device::DeviceInfo device,
                            std::vector<record::Record> records) {
  ReportCase one;
  std::stable_sort(records.begin(), records.end(), record::is_earlier);
  one.records = std::make_shared<const std::vector<record::Record>>(std::move(records));
  const record::Criterion criterion = record::Objective(*spec).criterion(problem, device);
  one.ranked = record::ranked(*one.records, criterion);
  one.best = record::best_of(*one.records, criterion);
  one.spec = std::move(spec);
  one.asked = problem;
  one.problem = std::move(problem);
  one.device = std::move(device);
  return one;
}

void answer_with(ReportCase& one, const std::string& key) {
  const auto answer = std::find_if(one.ranked.begin(), one.ranked.end(),
                                   [&](const record::Record* record) { return record->key == key; });
  if (answer == one.ranked.begin()) return;
  const auto refused = static_cast<std::size_t>(answer - one.ranked.begin());
  std::set<std::string> kept;
  for (auto at = answer; at != one.ranked.end(); ++at) kept.insert((*at)->key);
  std::vector<const record::Record*> left;
  for (const record::Record& record : *one.records)
    if (kept.contains(record.key)) left.push_back(&record);
  const record::Criterion criterion = record::Objective(*one.spec).criterion(one.problem, one.device);
  one.ranked = record::ranked(left, criterion);
  one.best = record::best_of(left, criterion);
  one.notes.push_back(
      counted_text(refused, "configuration") +
      " with a better rank may not answer: they failed since, or the driver, the reference or the source has changed.");
}

ReportCase report_case_of(std::shared_ptr<const spec::Spec> spec, const run::TuneResult& result) {
  std::vector<record::Record> records;
  for (const record::Record* record : result.all()) records.push_back(*record);
  ReportCase one = make_report_case(std::move(spec), result.problem, result.device, std::move(records));
  one.space_size = result.space_size;
  one.default_config = result.default_config;
  if (std::any_of(one.records->begin(), one.records->end(), record::is_sanitized))
    one.notes.emplace_back("Built with sanitizers: the times are not those of the kernel.");
  if (result.interrupted) one.notes.emplace_back("The run was interrupted before its search ended.");
  if (result.out_of_time) one.notes.emplace_back("The search ended because its time was up.");
  return one;
}

spec::Spec spec_of_records(const std::string& kernel, const std::vector<record::Record>& records) {
  spec::Spec spec;
  spec.kernel.name = kernel;
  const auto newest = std::max_element(
      records.begin(), records.end(),
      [](const record::Record& a, const record::Record& b) { return a.unix_time_ms < b.unix_time_ms; });
  const auto less = [](const Value& a, const Value& b) { return a < b; };
  std::map<std::string, std::set<Value, decltype(less)>> values;
  if (newest != records.end())
    for (const auto& [name, value] : newest->config) values.try_emplace(name, less);
  for (const record::Record& record : records)
    for (const auto& [name, value] : record.config)
      if (const auto known = values.find(name); known != values.end()) known->second.insert(value);
  for (auto& [name, list] : values) spec.parameters.push_back({name, {list.begin(), list.end()}});
  return spec;
}

}  // namespace xtune::report
