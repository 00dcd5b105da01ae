// xtune run --live: the report of a run, served while it goes on.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "report/page/case_view.hpp"
#include "system/loopback_page.hpp"

namespace xtune::cli {

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
