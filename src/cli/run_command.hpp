// xtune run: its options, and what it keeps from case to case.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/event_loop.hpp"
#include "cli/commands.hpp"
#include "cli/progress.hpp"
#include "core/record/objective.hpp"
#include "core/run/tuner.hpp"
#include "core/study/claims.hpp"
#include "core/study/launcher.hpp"

namespace xtune::cli {

struct RunOptions {
  CommonOptions common;
  std::string path;
  std::string log;
  std::string strategy;
  std::string recording;
  std::string transfer = "auto";
  std::optional<std::uint64_t> evals, seed;
  std::optional<double> seconds;
  std::size_t rows = 10;
  std::size_t top = 1;  ///< so many are measured in full
  std::string exec_prefix, partition;
  bool sanitize = false, fresh = false, retry_failed = false, quiet = false, dry_run = false;
};

/// "i/n", "i:n". Throws Error(invalid_argument).
Partition parse_partition(const std::string& text);

/// One run of the command, on devices or over recordings.
class RunCommand {
 public:
  /// options outlive it.
  explicit RunCommand(const RunOptions& options);
  ~RunCommand();
  int go();

 private:
  // run_command.cpp
  bool replays() const;
  void apply(bool replaying);

  // run_programs.cpp: what programs alone have.
  void put_before_program();
  int print_commands();

  // run_replay.cpp: the same loop over recordings, in simulated time.
  int replay();
  int recorded_device() const;

  // run_cases.cpp: what both do of each case, and at the end.
  std::vector<EventLoop::Watch> watch_signals(EventLoop& loop);
  void join(const std::string& arch);
  TuneResult tune_case(const Bindings& problem, EventLoop& loop, CompileService& compiler,
                       const std::vector<BenchService*>& benches, Clock& clock, ProgressPrinter& printer,
                       std::vector<Bindings> only = {});
  void show(const TuneResult& result, nlohmann::ordered_json json);
  void print_text(const TuneResult& result) const;
  bool chooses_across() const;
  void show_across();
  int finish() const;
  /// A replay's records are nobody's measurements: they are kept only where somebody asks for them.
  bool keeps() const { return spec_.replays() ? !options_.common.store.empty() : !cache_disabled_; }
  bool stored_counts() const { return keeps() && !spec_.replays() && !options_.fresh && !options_.sanitize; }

  const RunOptions& options_;
  Target target_;
  Spec spec_;
  std::atomic<bool> stop_{false};
  int code_ = done;
  bool cache_disabled_ = false;
  std::optional<Rank> rank_;         ///< one of several processes of a job
  std::unique_ptr<Claims> speaker_;  ///< of who prints the results of the job
  bool speaks_ = true;
  std::vector<nlohmann::ordered_json> results_;
  std::vector<TuneResult> tuned_;  ///< by case
};

}  // namespace xtune::cli
