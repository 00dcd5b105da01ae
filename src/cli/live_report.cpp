#include "cli/live_report.hpp"

#include <utility>

#include "cli/commands.hpp"
#include "cli/report_command.hpp"
#include "report/page/page.hpp"

namespace xtune::cli {

LiveReport::LiveReport(system::EventLoop& loop, int port) : page_(loop, port, [this] { return page(); }) {}

void LiveReport::begin(const spec::Spec& spec, const Bindings& problem, const device::DeviceInfo& device) {
  spec_ = std::make_shared<const spec::Spec>(spec);
  problem_ = problem;
  device_ = device;
  records_.clear();
  std::erase_if(ended_, [&](const report::ReportCase& one) {
    return one.spec->kernel.name == spec.kernel.name && one.problem == problem;
  });
  page_.changed();
}

void LiveReport::add(const store::Record& record) {
  records_.push_back(record);
  page_.changed();
}

void LiveReport::end(const run::TuneResult& result) {
  ended_.push_back(report::report_case_of(std::exchange(spec_, nullptr), result));
  page_.changed();
}

void LiveReport::finish() {
  constexpr std::uint64_t patience_ms = 3000;
  over_ = true;
  page_.finish(patience_ms);
}

std::string LiveReport::page() const {
  std::vector<report::ReportCase> cases;
  // What goes on comes first.
  if (spec_ && !records_.empty()) cases.push_back(report::make_report_case(spec_, problem_, device_, records_));
  cases.insert(cases.end(), ended_.rbegin(), ended_.rend());
  report::ReportData data = report_data(cases, command_words());
  data.live = over_ ? report::ReportData::Live::ended : report::ReportData::Live::running;
  return report::report_page(data);
}

}  // namespace xtune::cli
