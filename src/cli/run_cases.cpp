// xtune run: the steps for each case, and at the end.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/files.hpp"
#include "base/text.hpp"
#include "cli/run_command.hpp"
#include "cli/run_observer.hpp"
#include "cli/terminal.hpp"
#include "cluster/one_device.hpp"
#include "cluster/shared_study.hpp"
#include "core/record/record_log.hpp"
#include "core/run/across.hpp"
#include "report/failures.hpp"
#include "report/run_report.hpp"

namespace xtune::cli {

/// Finds out whether this is one of several processes of a job, and which of those on one architecture prints.
void RunCommand::join(const std::string& arch) {
  if (!session_.rank) return;
  const int size = session_.rank->size;
  if (!keeps())
    return tell("warning: {} processes of one job that keep nothing cannot share the work: each does all of it\n",
                size);
  try {
    join_study(arch);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::io) throw;
    rank_.reset();
    answer_.reset();
    speaks_ = true;
    tell("warning: {}; each of the {} processes of the job does all of the work\n", error.what(), size);
  }
}

void RunCommand::join_study(const std::string& arch) {
  session_.join_study(options_.common.store_path());
  rank_ = session_.rank;
  if (const auto component = cluster::environment_variable("XTUNE_COMPONENT"); component && !spec_.replays())
    cluster::require_one_device(options_.common.store_path(), rank_->study, *component, target_.device.name, arch);
  const std::filesystem::path study = cluster::study_folder(options_.common.store_path(), rank_->study);
  answer_.emplace(session_.claims_on_answers(study / record::path_component(arch) / "speaker"),
                  spec_.kernel.name + (options_.common.suite ? "\n" + options_.path : ""));
  speaks_ = answer_->own();
  if (!speaks_) return;
  if (tells_progress())
    tell("one of {} processes ({}), which share the work through {}\n", rank_->size, rank_->launcher,
         base::printable(options_.common.store_path().string()));
  if (rank_->local_size > 1 && !target_.further.empty())
    tell(
        "warning: {} processes of this node see the same {} devices and will disturb each other: give each its own "
        "(srun --gpus-per-task=1)\n",
        rank_->local_size, target_.further.size() + 1);
}

void RunCommand::begin_job() {
  run::TuneOptions settings = options_.tuning;
  settings.store = options_.common.store_path();
  settings.drain = &session_.drain;
  settings.transfer = options_.transfer == "auto";
  if (spec_.objective.across == spec::ObjectiveSpec::Across::each) settings.best_only = options_.rows;
  // All rows are shown.
  if (options_.common.json() || !options_.report.empty()) settings.best_only.reset();
  job_.emplace(std::move(settings), kept_);
}

run::TuneResult RunCommand::tune_case(const Bindings& problem, const run::TuneServices& services,
                                      ProgressPrinter& printer, std::vector<Bindings> only) {
  const base::TemporaryDirectory scratch;
  run::TuneOptions options = job_->next_run(spec_, target_, scratch.path());
  options.only = std::move(only);
  std::optional<cluster::SharedStudy> peers;
  if (rank_) {
    const cluster::SharedStudy::Place place{options.store, target_.device.arch, spec_.kernel.name, problem};
    try {
      options.peers = &peers.emplace(services.loop, base::system_clock(), place, *rank_, options.attempt);
    } catch (const Error& error) {
      tell("warning: {}; this process does all of this case\n", error.what());
    }
  }
  if (keeps() && !session_.progress) session_.keep_progress(options.store);
  RunObserver observer(printer, session_.progress ? &*session_.progress : nullptr,
                       session_.rule && !spec_.replays() ? &*session_.rule : nullptr, spec_, options_.path, problem,
                       target_.device);
  run::TuneResult result = run::tune(spec_, problem, target_, options, services, observer);
  observer.end(result);
  return result;
}

/// Processes begin at different cases: the fewer processes work on one at a time, the sooner each gets the results that
/// its search needs, and none waits for the last configuration of a case while there is another case.
std::vector<std::size_t> RunCommand::case_order() const {
  std::vector<std::size_t> order(spec_.cases.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = (session_.first_case + i) % order.size();
  return order;
}

std::vector<nlohmann::ordered_json> RunCommand::results() const {
  std::vector<nlohmann::ordered_json> list;
  for (const auto& [number, json] : results_) list.push_back(json);
  return list;
}

void RunCommand::show(std::size_t number, const run::TuneResult& result, nlohmann::ordered_json json) {
  if (!options_.report.empty()) reported_.keep(number, spec_, result);
  if (spec_.objective.across != spec::ObjectiveSpec::Across::each) tuned_by_case_.emplace(number, result);
  if (!record::best_of(result.all(), record::Objective(spec_).criterion(result.problem, result.device)))
    code_ = nothing_valid;
  const std::vector<report::FailureGroup> failures = report::failure_groups(result);
  // A user who requests the sanitizers wants to know whether they found something.
  if (options_.tuning.sanitize &&
      std::any_of(failures.begin(), failures.end(), [](const report::FailureGroup& group) { return group.sanitizer; }))
    code_ = nothing_valid;
  if (!options_.common.text())
    results_[number] = std::move(json);
  else
    print_case(result);
}

void RunCommand::print_case(const run::TuneResult& result) {
  if (!result.problem.empty()) say(fmt::format("\nproblem: {}\n", space::shown_text(result.problem)));
  say(report::run_text(spec_, result, options_.rows,
                       {terminal_width(STDOUT_FILENO), true, isatty(STDOUT_FILENO) == 1}));
}

void RunCommand::say(const std::string& text) {
  if (!speaks_) {
    unsaid_ += text;
    return;
  }
  print_out("{}", text);
  std::fflush(stdout);
}

bool RunCommand::chooses_across() const {
  return spec_.objective.across != spec::ObjectiveSpec::Across::each && tuned_by_case_.size() > 1 && !session_.ends();
}

void RunCommand::show_across() {
  for (std::size_t i = 0; i < tuned_.size() && !options_.report.empty(); ++i) reported_.keep(i, spec_, tuned_[i]);
  std::vector<run::RunCase> cases;
  for (const run::TuneResult& each : tuned_) cases.push_back({&spec_, &each});
  const record::RecordSet stored = spec_.replays() ? record::RecordSet() : job_->stored(spec_, target_);
  tell_warnings(stored.warnings);
  const auto choice = run::choose_across(cases, target_, stored.records);
  if (!choice) code_ = nothing_valid;
  if (!options_.common.text()) {
    for (auto& [number, json] : results_) json["across"] = report::across_json(spec_, choice, number);
  } else {
    say(report::across_text(spec_, choice));
  }
}

}  // namespace xtune::cli
