// Updates the progress file and the slowest configuration.
#include "cli/run_observer.hpp"

#include "base/clock.hpp"
#include "core/record/best.hpp"
#include "core/record/objective.hpp"

namespace xtune::cli {

RunObserver::RunObserver(ProgressPrinter& printer, cluster::ProgressFile* file, cluster::StopRule* rule,
                         const spec::Spec& spec, const std::string& path, const Bindings& problem,
                         const device::DeviceInfo& device)
    : printer_(printer), file_(file), rule_(rule), spec_(spec), path_(path), problem_(problem) {
  if (!file_) return;
  work().kernel = spec.kernel.name;
  work().arch = device.arch;
  work().device = device.name;
  file_->write(true);
}

RunObserver::~RunObserver() {
  printer_.end();
  if (!file_ || ended_) return;
  work().state = "failed";
  file_->write(true);
}

void RunObserver::on_record(const record::Record& record, const std::string& log, bool from_store) {
  if (rule_ && !from_store) rule_->measured(record.bench_s);
  printer_.on_record(record, log, from_store);
}

void RunObserver::on_progress(const run::Progress& progress) {
  printer_.on_progress(progress);
  if (!file_) return;
  cluster::WorkProgress& own = work();
  own.done = progress.done;
  own.total = progress.total;
  if (progress.best) {
    own.best_ms = measure::statistic(progress.best->time_ms, spec_.measure.statistic);
    own.best = progress.best->config;
  }
  file_->write();
}

void RunObserver::end(const run::TuneResult& result) {
  ended_ = true;
  printer_.end();
  if (!file_) return;
  cluster::WorkProgress& own = work();
  own.state = result.interrupted ? "stopped" : "done";
  // Like the run's own answer: the finals decide.
  if (const auto best = record::best_of(result.all(), record::Objective(spec_).criterion(problem_, result.device))) {
    own.best_ms = measure::statistic(best->record->time_ms, spec_.measure.statistic);
    own.best = best->record->config;
    own.answered_unix_ms = result.interrupted ? 0 : base::system_clock().unix_time_ms();
  }
  file_->write(true);
}

}  // namespace xtune::cli
