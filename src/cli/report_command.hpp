// A report's page, for `xtune report`, `xtune run --report` and `xtune run --live`.
#pragma once

#include <string>
#include <vector>

#include "cli/output.hpp"
#include "report/page/case_view.hpp"
#include "system/loopback_page.hpp"

namespace xtune::cli {

/// run_command: for measuring again, empty if it is unknown.
report::ReportData report_data(std::vector<report::ReportCase> cases, std::vector<std::string> run_command);
/// Returns {"report", "problems", "records", "omitted", "answered", "bytes"}: omitted are records that the store has as
/// well, answered the problems with a configuration that passed. Throws Error(io).
Json write_report_file(const std::string& path, const report::ReportData& data);
/// "report.html: 1 problem, 412 records, 210 KiB"; "... 50000 of 1000000 records, ..." if some are omitted.
std::string report_line(const Json& file);

/// xtune run --live: the report of a run, served while it goes on.
class LiveReport {
 public:
  /// Throws Error(io) if the port cannot be had; 0: a free one.
  LiveReport(system::EventLoop& loop, int port);
  const std::string& address() const { return page_.address(); }
  /// A case begins; what was measured for it before no longer counts.
  void begin(const spec::Spec& spec, const Bindings& problem, const device::DeviceInfo& device);
  void add(const store::Record& record);
  /// The case that began last has ended.
  void end(const run::TuneResult& result);
  /// The run has ended: readers get its last state.
  void finish();

 private:
  std::string page() const;

  std::vector<report::ReportCase> ended_;
  std::shared_ptr<const spec::Spec> spec_;  ///< of the case that goes on; null: none does
  Bindings problem_;
  device::DeviceInfo device_;
  std::vector<store::Record> records_;
  bool over_ = false;
  system::LoopbackPage page_;
};

}  // namespace xtune::cli
