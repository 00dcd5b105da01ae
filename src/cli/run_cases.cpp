// What xtune run does of each case, and at the end.
#include <fmt/core.h>

#include <cmath>
#include <csignal>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/files.hpp"
#include "base/text.hpp"
#include "cli/run_command.hpp"
#include "core/record/record_log.hpp"
#include "core/run/across.hpp"
#include "core/run/attempt.hpp"
#include "core/study/shared_study.hpp"
#include "report/run_report.hpp"

namespace xtune::cli {

std::vector<EventLoop::Watch> RunCommand::watch_signals(EventLoop& loop) {
  std::vector<EventLoop::Watch> watches;
  // USR1 is how batch systems announce the end of the time that a job has (sbatch --signal).
  for (const int signum : {SIGINT, SIGTERM, SIGHUP, SIGUSR1})
    watches.push_back(loop.on_signal(signum, [this] { stop_ = true; }));
  return watches;
}

/// Finds out whether this is one of several processes of a job, and who of those on one architecture prints.
void RunCommand::join(const std::string& arch) {
  rank_ = find_rank();
  if (!rank_) return;
  if (!keeps()) {
    tell("warning: {} processes of one job that keep nothing cannot share the work: each does all of it\n",
         rank_->size);
    rank_.reset();
    return;
  }
  const std::filesystem::path study = study_folder(options_.common.store_path(), rank_->study);
  speaker_ = std::make_unique<Claims>(study / path_component(arch) / "speaker", new_attempt(), system_clock(),
                                      Claims::Options{HUGE_VAL, 1});
  speaks_ = speaker_->take(spec_.kernel.name);
  if (!speaks_) return;
  tell("one of {} processes ({}), which share the work through {}\n", rank_->size, rank_->launcher,
       printable(options_.common.store_path().string()));
  if (rank_->local_size > 1 && !target_.further.empty())
    tell(
        "warning: {} processes of this node see the same {} devices and will disturb each other: give each its own "
        "(srun --gpus-per-task=1)\n",
        rank_->local_size, target_.further.size() + 1);
}

TuneResult RunCommand::tune_case(const Bindings& problem, EventLoop& loop, CompileService& compiler,
                                 const std::vector<BenchService*>& benches, Clock& clock, ProgressPrinter& printer,
                                 std::vector<Bindings> only) {
  const TemporaryDirectory scratch;
  TuneOptions options;
  options.store = keeps() ? options_.common.store_path() : scratch.path() / "store";
  options.scratch = scratch.path();
  options.attempt = new_attempt();
  options.sanitize = options_.sanitize;
  options.fresh = options_.fresh;
  options.retry_failed = options_.retry_failed;
  options.transfer = options_.transfer == "auto";
  options.top = options_.top;
  options.only = std::move(only);
  std::optional<SharedStudy> peers;
  if (rank_) {
    const SharedStudy::Place place{options.store, target_.device.arch, spec_.kernel.name, problem};
    options.peers = &peers.emplace(loop, system_clock(), place, *rank_, options.attempt);
  }
  return tune(spec_, problem, target_, options, loop, compiler, benches, clock, printer, stop_);
}

void RunCommand::show(const TuneResult& result, nlohmann::ordered_json json) {
  if (!best_of(result.all(), Objective(spec_).criterion(result.problem, result.device))) code_ = nothing_valid;
  if (options_.common.json())
    results_.push_back(std::move(json));
  else if (speaks_)
    print_text(result);
}

void RunCommand::print_text(const TuneResult& result) const {
  if (!result.problem.empty()) fmt::print("\nproblem: {}\n", bindings_text(result.problem));
  fmt::print("{}", run_text(spec_, result, options_.rows));
  std::fflush(stdout);
}

bool RunCommand::chooses_across() const {
  return spec_.objective.across != ObjectiveSpec::Across::each && tuned_.size() > 1 && !stop_;
}

void RunCommand::show_across() {
  std::vector<RunCase> cases;
  for (const TuneResult& each : tuned_) cases.push_back({&spec_, &each});
  const std::vector<Record> stored =
      stored_counts() ? stored_records(spec_, options_.common, target_) : std::vector<Record>();
  const auto choice = choose_across(cases, target_, stored);
  if (!choice) code_ = nothing_valid;
  if (options_.common.json()) {
    for (std::size_t i = 0; i < results_.size(); ++i) results_[i]["across"] = across_json(spec_, choice, i);
  } else if (speaks_) {
    fmt::print("{}", across_text(spec_, choice));
    std::fflush(stdout);
  }
}

int RunCommand::finish() const {
  if (options_.common.json() && speaks_) print_json(results_);
  if (!stop_) return code_;
  tell("xtune: interrupted; {}\n", keeps()           ? "what was measured is kept, and the next run goes on from there"
                                   : spec_.replays() ? "a replay keeps nothing without --store"
                                                     : "with XTUNE_DISABLE_CACHE nothing is kept");
  return interrupted;
}

}  // namespace xtune::cli
