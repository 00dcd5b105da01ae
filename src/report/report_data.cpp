// Collects and ranks the records of a report.
#include "report/report_data.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "report/page_parts.hpp"

namespace xtune::report {

ReportCase make_report_case(std::shared_ptr<const spec::Spec> spec, Bindings problem, device::DeviceInfo device,
                            std::vector<record::Record> records, const std::optional<std::string>& answer) {
  ReportCase one;
  std::stable_sort(records.begin(), records.end(), record::is_earlier);
  const auto own = std::make_shared<std::vector<record::Record>>(std::move(records));
  std::vector<record::Record*> all;
  for (record::Record& record : *own) all.push_back(&record);
  const record::Criterion criterion = record::Objective(*spec).criterion(problem, device);
  auto standings = std::make_shared<record::Standings>(*own, criterion);
  const std::vector<const record::Record*>& order = standings->order();
  if (answer && !order.empty() && order.front()->key != *answer) {
    const auto at =
        std::find_if(order.begin(), order.end(), [&](const record::Record* record) { return record->key == *answer; });
    one.notes.push_back(counted_text(static_cast<std::size_t>(at - order.begin()), "configuration") +
                        " with a better rank may not answer: they failed since, or the driver, the reference or the "
                        "source has changed.");
    std::set<std::string> kept;
    for (auto left = at; left != order.end(); ++left) kept.insert((*left)->key);
    std::vector<const record::Record*> left;
    for (const record::Record& record : *own)
      if (kept.contains(record.key)) left.push_back(&record);
    standings = std::make_shared<record::Standings>(left, criterion);
  }
  record::put_on_one_scale(all, *standings);
  one.records = own;
  one.ranked = standings->order();
  if (!standings->empty()) one.best = record::Best{&standings->best(), standings->ties()};
  one.standings = std::move(standings);
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
