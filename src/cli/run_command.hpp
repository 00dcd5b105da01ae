// xtune run: its options, and what it keeps from case to case.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/event_loop.hpp"
#include "base/suspension.hpp"
#include "cli/commands.hpp"
#include "cli/progress.hpp"
#include "cli/report_file.hpp"
#include "cluster/claims.hpp"
#include "cluster/job_end.hpp"
#include "cluster/launcher.hpp"
#include "cluster/progress_file.hpp"
#include "cluster/walltime.hpp"
#include "core/record/objective.hpp"
#include "core/run/job.hpp"

namespace xtune::cli {

struct RunOptions {
  CommonOptions common;
  std::vector<std::string> paths;
  std::string path;  ///< of one of them
  std::string log;
  run::SearchSettings search;
  run::TuneOptions tuning;
  std::string recording;
  std::string transfer = "auto";
  std::size_t rows = 10;
  std::string exec_prefix, partition;
  std::string report;  ///< file of an HTML report; empty: none
  bool quiet = false, dry_run = false, requeue = false;
  std::string walltime = "auto";
};

/// "i/n", "i:n". Throws Error(invalid_argument).
spec::Partition parse_partition(const std::string& text);

/// What all specs of one command share.
struct RunSession {
  explicit RunSession(const RunOptions& options);
  /// Of the processes that share a search: which run of its name this is. Once; throws Error(io).
  void join_study(const std::filesystem::path& store);
  /// Tells `xtune status`, where this is a process of a job or of a named study.
  void keep_progress(const std::filesystem::path& store);
  bool ends() const { return stop || drain; }
  /// Of those who tell what came of a spec: below `folder`, kept alive while this one is. Throws Error(io).
  cluster::Claims& claims_on_answers(const std::filesystem::path& folder);

  base::SuspensionWatch suspensions;
  base::EventLoop loop;
  std::atomic<bool> stop{false};   ///< at once
  std::atomic<bool> drain{false};  ///< begin nothing new: the job's time is nearly over
  bool again = false;              ///< there is more to do, in another job or another attempt of this one
  std::vector<base::EventLoop::Watch> signals;
  std::optional<cluster::StopRule> rule;   ///< of a job that has a limit, or may have one
  std::optional<std::int64_t> end_ns;      ///< of its time, by system_clock; nullopt: none, or not heard of yet
  bool one_asks = false;                   ///< of all processes of the job, when that is
  bool listens = false;                    ///< this one has not heard yet
  std::int64_t ask_ns = 0;                 ///< when it asks for itself, by system_clock
  std::optional<cluster::JobEnd> job_end;  ///< where it is told; known with the store
  base::EventLoop::Watch look, beat, speakers_beat;
  std::optional<cluster::ProgressFile> progress;
  std::optional<cluster::Rank> rank;  ///< one of several processes of a job
  bool seated = false;
  std::size_t first_case = 0;  ///< of each spec that this process begins at, if it has as many
  bool tells;                  ///< of all processes of the job this one says what concerns them all
  /// Of who tells what came of a spec. A claim lasts as long as its process.
  std::vector<std::unique_ptr<cluster::Claims>> speakers;
  bool kept = true;  ///< what was measured, in every spec so far
};

/// What one of several processes prints: the first that asks, and where that is gone without having printed, one of
/// those that are left. Where two of them believe so, both print: an answer twice is better than none.
class SharedAnswer {
 public:
  /// Of `name`; claims outlives it. Throws Error(io).
  SharedAnswer(cluster::Claims& claims, std::string name)
      : claims_(&claims), name_(std::move(name)), own_(claims_->take(name_)) {}
  bool own() const { return own_; }  ///< this process is the one, so far
  /// At the end of this process' work: waits until another one has printed, or this one is to.
  bool is_left_to_this(RunSession& session);
  /// To be called once it is printed, so that nobody else does.
  void printed();

 private:
  cluster::Claims* claims_;
  std::string name_;
  bool own_;
};

/// All specs of the command, one after the other.
int run_specs(const RunOptions& options);

/// One spec of the command, on devices or over recordings.
class RunCommand {
 public:
  /// Both outlive it.
  RunCommand(const RunOptions& options, RunSession& session);
  ~RunCommand();
  /// The exit code, done or nothing_valid.
  int go();
  /// In the order of the cases, those that had their turn.
  std::vector<nlohmann::ordered_json> results() const;
  /// What this process would print were it the one; unset: it shares nothing, and has printed all of it.
  std::optional<SharedAnswer>& answer() { return answer_; }
  const std::string& unsaid() const { return unsaid_; }
  const ReportedCases& reported() const { return reported_; }  ///< for --report
  bool shares() const { return rank_.has_value(); }
  const std::string& arch() const { return target_.device.arch; }

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
  void join(const std::string& arch);
  void join_study(const std::string& arch);
  void begin_job();
  run::TuneResult tune_case(const Bindings& problem, const run::TuneServices& services, ProgressPrinter& printer,
                            std::vector<Bindings> only = {});
  std::vector<std::size_t> case_order() const;
  void show(std::size_t number, const run::TuneResult& result, nlohmann::ordered_json json);
  void print_case(const run::TuneResult& result);
  void say(const std::string& text);
  bool tells_progress() const { return speaks_ && !options_.quiet; }
  bool chooses_across() const;
  void show_across();
  /// A replay's records are nobody's measurements: they are kept only where somebody asks for them.
  bool keeps() const { return spec_.replays() ? !options_.common.store.empty() : !cache_disabled_; }

  const RunOptions& options_;
  RunSession& session_;
  target::Target target_;
  spec::Spec spec_;
  std::optional<run::TuningJob> job_;  ///< set before the first case
  int code_ = done;
  bool cache_disabled_ = false;
  std::optional<cluster::Rank> rank_;  ///< of those who share the work on this spec
  std::optional<SharedAnswer> answer_;
  bool speaks_ = true;
  std::string unsaid_;                                     ///< for standard output, of one that does not speak
  std::map<std::size_t, nlohmann::ordered_json> results_;  ///< by case
  std::map<std::size_t, run::TuneResult> tuned_by_case_;
  std::vector<run::TuneResult> tuned_;  ///< the same in order, once all are there
  ReportedCases reported_;
};

}  // namespace xtune::cli
