// Collects and ranks the records of a report.
#include "report/report_data.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "report/trace.hpp"

namespace xtune::report {

ReportCase make_report_case(std::shared_ptr<const spec::Spec> spec, Bindings problem, device::DeviceInfo device,
                            std::vector<record::Record> records) {
  ReportCase one;
  std::erase_if(records, [](const record::Record& record) { return record::is_sanitized(record); });
  std::vector<const record::Record*> order;
  for (const record::Record& record : records) order.push_back(&record);
  sort_by_time(order);
  std::vector<record::Record> sorted;
  for (const record::Record* record : order) sorted.push_back(*record);
  one.records = std::make_shared<const std::vector<record::Record>>(std::move(sorted));
  const record::Criterion criterion = record::Objective(*spec).criterion(problem, device);
  one.ranked = record::ranked(*one.records, criterion);
  one.best = record::best_of(*one.records, criterion);
  one.spec = std::move(spec);
  one.asked = problem;
  one.problem = std::move(problem);
  one.device = std::move(device);
  return one;
}

ReportCase report_case_of(std::shared_ptr<const spec::Spec> spec, const run::TuneResult& result) {
  std::vector<record::Record> records;
  for (const record::Record* record : result.all()) records.push_back(*record);
  ReportCase one = make_report_case(std::move(spec), result.problem, result.device, std::move(records));
  one.space_size = result.space_size;
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
