// What xtune run does of each case, and at the end.
#include <fmt/core.h>

#include <csignal>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/files.hpp"
#include "cli/run_command.hpp"
#include "core/run/across.hpp"
#include "core/run/attempt.hpp"
#include "report/run_report.hpp"

namespace xtune::cli {

std::vector<EventLoop::Watch> RunCommand::watch_signals(EventLoop& loop) {
  std::vector<EventLoop::Watch> watches;
  for (const int signum : {SIGINT, SIGTERM, SIGHUP})
    watches.push_back(loop.on_signal(signum, [this] { stop_ = true; }));
  return watches;
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
  return tune(spec_, problem, target_, options, loop, compiler, benches, clock, printer, stop_);
}

void RunCommand::show(const TuneResult& result, nlohmann::ordered_json json) {
  if (!best_of(result.all(), Objective(spec_).criterion(result.problem, result.device))) code_ = nothing_valid;
  if (options_.common.json())
    results_.push_back(std::move(json));
  else
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
  } else {
    fmt::print("{}", across_text(spec_, choice));
    std::fflush(stdout);
  }
}

int RunCommand::finish() const {
  if (options_.common.json()) print_json(results_);
  if (!stop_) return code_;
  tell("xtune: interrupted; {}\n", keeps()           ? "what was measured is kept, and the next run goes on from there"
                                   : spec_.replays() ? "a replay keeps nothing without --store"
                                                     : "with XTUNE_DISABLE_CACHE nothing is kept");
  return interrupted;
}

}  // namespace xtune::cli
