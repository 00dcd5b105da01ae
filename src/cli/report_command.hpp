// Writes a report's page, for `xtune report` and `xtune run --report`.
#pragma once

#include <string>
#include <vector>

#include "cli/output.hpp"
#include "report/page/case_view.hpp"

namespace xtune::cli {

/// run_command: for measuring again, empty if it is unknown.
report::ReportData report_data(std::vector<report::ReportCase> cases, std::vector<std::string> run_command);
/// Returns {"report", "problems", "records", "omitted", "answered", "bytes"}: omitted are records that the store has as
/// well, answered the problems with a configuration that passed. Throws Error(io).
Json write_report_file(const std::string& path, const report::ReportData& data);
/// "report.html: 1 problem, 412 records, 210 KiB"; "... 50000 of 1000000 records, ..." if some are omitted.
std::string report_line(const Json& file);

}  // namespace xtune::cli
