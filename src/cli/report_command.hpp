// Writes a report's page, for `xtune report` and `xtune run --report`.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "report/page/case_view.hpp"

namespace xtune::cli {

/// The cases of one spec while it runs.
class ReportedCases {
 public:
  /// Keeps the result of a case; a later result replaces an earlier one. The spec is copied with the first.
  void keep(std::size_t number, const spec::Spec& spec, const run::TuneResult& result);
  /// Appends the cases in their order.
  void append_to(std::vector<report::ReportCase>& cases) const;

 private:
  std::shared_ptr<const spec::Spec> spec_;
  std::map<std::size_t, report::ReportCase> cases_;
};

struct ReportFile {
  std::uint64_t records = 0, bytes = 0;
  std::size_t answered = 0;  ///< problems with a configuration that passed
};

/// run_command: for measuring again, empty if it is unknown. Throws Error(io).
ReportFile write_report_file(const std::string& path, const std::vector<report::ReportCase>& cases,
                             const std::vector<std::string>& run_command);
/// "report.html: 1 problem, 412 records, 210 KiB".
std::string report_line(const std::string& path, std::size_t problems, const ReportFile& file);

}  // namespace xtune::cli
