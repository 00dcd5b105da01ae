// Progress of a run: on standard error one line that is rewritten on a terminal, occasional plain lines elsewhere; and
// for `xtune status` and the end of the job's time.
#pragma once

#include <cstdio>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "cli/report_command.hpp"
#include "cluster/progress.hpp"
#include "cluster/walltime.hpp"
#include "core/run/tuner.hpp"
#include "system/event_loop.hpp"

namespace xtune::cli {

/// Prints progress and warnings; keeps the --log file with each configuration's outcome, times and compiler output.
class ProgressPrinter final : public run::TuneObserver {
 public:
  /// log_path: empty for none. Throws Error(invalid_argument) if the log cannot be opened; if it cannot be written
  /// later, there is a warning.
  enum class Verbosity { all, quiet, warnings };  ///< quiet: no progress
  /// The loop must outlive it: on a terminal the line is redrawn regularly, even while no configuration ends.
  ProgressPrinter(const spec::Spec& spec, const std::string& log_path, Verbosity verbosity, system::EventLoop& loop);
  ~ProgressPrinter() override;
  ProgressPrinter(const ProgressPrinter&) = delete;
  ProgressPrinter& operator=(const ProgressPrinter&) = delete;

  void on_record(const store::Record& record, const std::string& log, bool from_store) override;
  bool wants_stored() const override { return log_ != nullptr; }
  /// From now until end(), `progress` returns the run's progress.
  void begin(std::function<run::Progress()> progress);
  void end();
  void on_progress(const run::Progress& progress) override;
  void on_note(const std::string& text) override;
  void on_warning(const std::string& text) override;
  /// Ends the line, so that the next output starts on a new one.
  void finish();

 private:
  void tick();
  void draw(const run::Progress& progress);
  std::string entry(const store::Record& record, const std::string& log, bool from_store) const;
  const spec::Spec& spec_;
  std::string log_path_;
  std::FILE* log_ = nullptr;
  Verbosity verbosity_;
  bool terminal_;
  bool line_open_ = false;
  std::set<std::string> warned_;  ///< several problems may have the same cause
  double last_print_s_ = -1e9;
  std::uint64_t last_done_ = 0;
  system::EventLoop& loop_;
  system::EventLoop::Watch next_tick_;
  std::function<run::Progress()> progress_;  ///< empty: no run
};

/// file, rule and live may be null; they and the printer must outlive it.
class RunObserver final : public run::TuneObserver {
 public:
  RunObserver(ProgressPrinter& printer, cluster::ProgressFile* file, cluster::StopRule* rule, LiveReport* live,
              const spec::Spec& spec, const std::string& path, const Bindings& problem,
              const device::DeviceInfo& device);
  /// A search that ends with an exception has failed.
  ~RunObserver() override;
  RunObserver(const RunObserver&) = delete;
  RunObserver& operator=(const RunObserver&) = delete;

  void on_record(const store::Record& record, const std::string& log, bool from_store) override;
  bool wants_stored() const override { return live_ || printer_.wants_stored(); }
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
  LiveReport* live_;
  const spec::Spec& spec_;
  std::string path_;
  Bindings problem_;
  bool ended_ = false;
};

}  // namespace xtune::cli
