// Writes a report's page, for `xtune report` and `xtune run --report`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report/page/case_view.hpp"

namespace xtune::cli {

struct ReportFile {
  std::uint64_t records = 0, bytes = 0;
  std::size_t answered = 0;  ///< problems with a configuration that passed
};

/// run_command: for measuring again, empty if it is unknown.
report::ReportData report_data(std::vector<report::ReportCase> cases, std::vector<std::string> run_command);
/// run_command: for measuring again, empty if it is unknown. Throws Error(io).
ReportFile write_report_file(const std::string& path, const std::vector<report::ReportCase>& cases,
                             const std::vector<std::string>& run_command);
/// "report.html: 1 problem, 412 records, 210 KiB".
std::string report_line(const std::string& path, std::size_t problems, const ReportFile& file);

}  // namespace xtune::cli
