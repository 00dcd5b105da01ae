// Collects the facts that every report has about itself.
#include "cli/report_file.hpp"

#include "base/clock.hpp"
#include "base/files.hpp"
#include "base/text.hpp"
#include "cli/commands.hpp"
#include "report/page.hpp"
#include "xtune/version.hpp"

namespace xtune::cli {

std::vector<std::string>& command_words() {
  static std::vector<std::string> words;
  return words;
}

void ReportedCases::keep(std::size_t number, const spec::Spec& spec, const run::TuneResult& result) {
  if (!spec_) spec_ = std::make_shared<const spec::Spec>(spec);
  cases_.insert_or_assign(number, report::report_case_of(spec_, result));
}

void ReportedCases::append_to(std::vector<report::ReportCase>& cases) const {
  for (const auto& [number, one] : cases_) cases.push_back(one);
}

ReportFile write_report_file(const std::string& path, const std::vector<report::ReportCase>& cases,
                             const std::vector<std::string>& run_command) {
  report::ReportData data;
  data.cases = cases;
  data.run_command = run_command;
  data.command = command_words();
  data.version = version;
  data.written_unix_ms = base::system_clock().unix_time_ms();
  const std::string page = report::report_page(data);
  base::write_output_file(path, page);
  ReportFile file;
  file.bytes = page.size();
  for (const report::ReportCase& one : cases) {
    file.records += one.records->size();
    file.answered += one.best.has_value();
  }
  return file;
}

std::string report_line(const std::string& path, std::size_t problems, const ReportFile& file) {
  return fmt::format("{}: {}, {}, {}", base::printable(path), counted(problems, "problem"),
                     counted(file.records, "record"), base::human_bytes(file.bytes));
}

}  // namespace xtune::cli
