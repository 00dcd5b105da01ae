// xtune run: its options, and its state across cases.
#pragma once

#include "cli/cases.hpp"
#include "cli/direct_spec.hpp"
#include "cli/progress.hpp"
#include "cluster/claims.hpp"
#include "cluster/launcher.hpp"
#include "cluster/progress.hpp"
#include "cluster/walltime.hpp"
#include "core/run/job.hpp"
#include "core/store/objective.hpp"
#include "system/chosen_store.hpp"
#include "system/clock.hpp"

namespace xtune::cli {

struct RunOptions : SpecsOptions {
  DirectOptions direct;
  std::string log;
  run::SearchSettings search;
  run::TuneOptions tuning;
  std::string recording;
  std::string transfer = "auto";
  std::optional<std::size_t> top;
  std::size_t rows = 10;
  std::string exec_prefix, partition;
  std::string report;       ///< file for an HTML report; empty: none
  std::string live;         ///< port of 127.0.0.1 for the report while the run goes on, or "auto"; empty: none
  std::string lock_clocks;  ///< "auto", or MHz; empty: clocks are not fixed
  bool dry_run = false, requeue = false;
  std::string walltime = "auto";
};

/// State that all specs of one command share.
struct RunSession {
  explicit RunSession(const RunOptions& options);
  /// For processes that share a search: finds out which run of its name this is. Call it once; throws Error(io).
  void join_study(const std::filesystem::path& store);
  /// Writes progress for `xtune status`, if this is a process of a job or of a named study.
  void keep_progress(const std::filesystem::path& store);
  bool ends() const { return stop || drain; }
  /// The claims on printing answers for a spec: below `folder`, kept alive as long as this object. Throws Error(io).
  cluster::Claims& claims_on_answers(const std::filesystem::path& folder);

  system::SuspensionWatch suspensions;
  system::EventLoop loop;
  std::atomic<bool> stop{false};   ///< now
  bool asked_compilers = false;    ///< which one takes a source that this one refuses
  std::atomic<bool> drain{false};  ///< start nothing new: the job's time is nearly over
  bool again = false;              ///< there is more to do, in another job or another attempt of this one
  std::vector<system::EventLoop::Watch> signals;
  std::optional<cluster::StopRule> rule;   ///< for a job that has a time limit, or may have one
  std::optional<std::int64_t> end_ns;      ///< of the job's time, by system_clock; nullopt: none, or not known yet
  bool one_asks = false;                   ///< one of the job's processes runs a command for it
  bool listens = false;                    ///< this one waits for the answer
  std::int64_t ask_ns = 0;                 ///< when it asks itself, by system_clock
  std::optional<cluster::JobEnd> job_end;  ///< the answer's place; set once the store is known
  system::EventLoop::Watch look, beat, speakers_beat;
  std::optional<cluster::ProgressFile> progress;
  std::optional<cluster::Rank> rank;  ///< one of several processes of a job
  bool seated = false;
  std::size_t first_case = 0;  ///< this process begins at this case of each spec, if there are as many
  bool tells;                  ///< this process prints messages that concern all processes of the job
  /// For processes that print the answer for a spec. A claim lasts as long as its process.
  std::vector<std::unique_ptr<cluster::Claims>> speakers;
  std::optional<LiveReport> live;
  bool kept = true;  ///< all measurements of every spec so far were stored
};

/// An answer that one of several processes prints: the first that claims it, or if that ended without printing, one of
/// the others. If two of them believe so, both print: two answers are better than none.
class SharedAnswer {
 public:
  /// The answer `name`; claims must outlive it. Throws Error(io).
  SharedAnswer(cluster::Claims& claims, std::string name)
      : claims_(&claims), name_(std::move(name)), own_(claims_->take(name_)) {}
  bool own() const { return own_; }  ///< whether this process prints it, so far
  /// Call it at the end of this process's work: waits until another one has printed, or this one must.
  bool is_left_to_this(RunSession& session);
  /// Call it after printing, so that no other process does.
  void printed();

 private:
  cluster::Claims* claims_;
  std::string name_;
  bool own_;
};

/// Runs all specs of the command, one after the other.
int run_specs(const RunOptions& options);

/// One spec of the command, on devices or over recordings.
class RunCommand {
 public:
  /// Both must outlive it.
  RunCommand(const RunOptions& options, RunSession& session);
  ~RunCommand();
  /// Returns the exit code, done or nothing_valid.
  int go();
  /// In the order of the cases, without those that were not reached.
  std::vector<Json> results() const;
  /// The output of this process if it must print the answer; unset: it shares nothing, and has printed everything.
  std::optional<SharedAnswer>& answer() { return answer_; }
  const std::string& unsaid() const { return unsaid_; }
  /// For --report: by case.
  const std::map<std::size_t, report::ReportCase>& reported() const { return reported_; }
  bool shares() const { return rank_.has_value(); }
  const std::string& arch() const { return target_.device.arch; }

 private:
  // run_programs.cpp: only for programs.
  void put_before_program();
  int print_commands();

  // run_command.cpp
  void apply(bool replaying);
  int replay();  ///< the same loop over recordings, in simulated time
  void join(const std::string& arch);
  void join_study(const std::string& arch);
  void begin_job();
  run::TuneResult tune_case(const Bindings& problem, const run::TuneServices& services, ProgressPrinter& printer,
                            std::vector<Bindings> only = {});
  std::vector<std::size_t> case_order() const;
  void show(std::size_t number, const run::TuneResult& result, Json json);
  void print_case(const run::TuneResult& result);
  /// Keeps a result for --report; a later one of the case replaces an earlier one.
  void report_later(std::size_t number, const run::TuneResult& result);
  void say(const std::string& text);
  bool tells_progress() const { return speaks_ && !options_.quiet; }
  bool predicts() const { return spec_.search.effort == "none"; }
  bool chooses_across() const;
  void show_across();
  /// Whether records are kept.
  bool keeps() const { return kept_ == system::Kept::all; }

  const RunOptions& options_;
  RunSession& session_;
  run::Target target_;
  spec::Spec spec_;
  std::optional<run::TuningJob> job_;  ///< set before the first case
  int code_ = done;
  system::Kept kept_ = system::Kept::all;
  std::optional<cluster::Rank> rank_;  ///< among the processes that share the work on this spec
  std::optional<SharedAnswer> answer_;
  bool speaks_ = true;
  std::string unsaid_;                   ///< output of a process that does not print it yet
  std::map<std::size_t, Json> results_;  ///< by case
  std::map<std::size_t, run::TuneResult> tuned_by_case_;
  std::vector<run::TuneResult> tuned_;  ///< the same in order, once they are complete
  std::map<std::size_t, report::ReportCase> reported_;
};

}  // namespace xtune::cli
