// Distributes the events of a run: to the user, to `xtune status`, and to the rule that stops before the job's end.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "cli/progress.hpp"
#include "cluster/progress_file.hpp"
#include "cluster/walltime.hpp"

namespace xtune::cli {

/// file and rule may be null; they and the printer must outlive it.
class RunObserver final : public run::TuneObserver {
 public:
  RunObserver(ProgressPrinter& printer, cluster::ProgressFile* file, cluster::StopRule* rule, const spec::Spec& spec,
              const std::string& path, const Bindings& problem, const device::DeviceInfo& device);
  /// A search that ends with an exception has failed.
  ~RunObserver() override;
  RunObserver(const RunObserver&) = delete;
  RunObserver& operator=(const RunObserver&) = delete;

  void on_record(const record::Record& record, const std::string& log, bool from_store) override;
  bool wants_stored() const override { return printer_.wants_stored(); }
  void on_begin(std::function<run::Progress()> progress) override { printer_.begin(std::move(progress)); }
  void on_progress(const run::Progress& progress) override;
  void on_note(const std::string& text) override { printer_.on_note(text); }
  void on_warning(const std::string& text) override { printer_.on_warning(text); }
  void end(const run::TuneResult& result);

 private:
  cluster::WorkProgress& work() { return file_->work(path_, problem_); }
  ProgressPrinter& printer_;
  cluster::ProgressFile* file_;
  cluster::StopRule* rule_;
  const spec::Spec& spec_;
  std::string path_;
  Bindings problem_;
  bool ended_ = false;
};

}  // namespace xtune::cli
