// xtune run: tune every case of a spec on a device, or over recordings, where nothing is measured.
#include "cli/run_command.hpp"

#include <unistd.h>

#include "base/text.hpp"
#include "cluster/shared_study.hpp"
#include "core/device/backend_facts.hpp"
#include "core/init/signature.hpp"
#include "core/resolve/source_warnings.hpp"
#include "core/run/check_spec.hpp"
#include "core/run/compile_sweep.hpp"
#include "core/run/job.hpp"
#include "core/store/record_log.hpp"
#include "report/text/run_report.hpp"
#include "worker/ipc/locked_clocks.hpp"
#include "worker/ipc/pool.hpp"
#include "worker/ipc/services.hpp"
#include "worker/ipc/target.hpp"

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
  answer_.emplace(session_.claims_on_answers(study / store::path_component(arch) / "speaker"),
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
  if (options_.common.json() || !options_.report.empty() || !options_.live.empty()) settings.best_only.reset();
  job_.emplace(std::move(settings), kept_);
}

run::TuneResult RunCommand::tune_case(const Bindings& problem, const run::TuneServices& services,
                                      ProgressPrinter& printer, std::vector<Bindings> only) {
  const system::TemporaryDirectory scratch;
  run::TuneOptions options = job_->next_run(spec_, target_, scratch.path());
  if (predicts()) return run::predict(spec_, problem, target_, options);
  options.only = std::move(only);
  std::optional<cluster::SharedStudy> peers;
  if (rank_) {
    const cluster::SharedStudy::Place place{options.store, target_.device.arch, spec_.kernel.name, problem};
    try {
      options.peers = &peers.emplace(services.loop, system::system_clock(), place, *rank_, options.attempt);
    } catch (const Error& error) {
      tell("warning: {}; this process does all of this case\n", error.what());
    }
  }
  if (keeps() && !session_.progress) session_.keep_progress(options.store);
  RunObserver observer(printer, session_.progress ? &*session_.progress : nullptr,
                       session_.rule && !spec_.replays() ? &*session_.rule : nullptr,
                       session_.live ? &*session_.live : nullptr, spec_, options_.path, problem, target_.device);
  run::TuneResult result = run::tune(spec_, problem, target_, options, services, observer);
  observer.end(result);
  const auto failed = std::ranges::find(result.records, Outcome::compile_failed, &store::Record::outcome);
  if (failed != result.records.end() && result.counts[Outcome::compile_failed] == result.evaluated() &&
      !spec_.replays() && !std::exchange(session_.asked_compilers, true))
    if (const std::string others =
            run::other_compilers(spec_, problem, target_, failed->config, options.store, services.loop,
                                 services.compiler, [this] { return session_.stop.load(); });
        !others.empty())
      tell("{}: {}\n", report::config_text(spec_, failed->config), others);
  return result;
}

/// Processes begin at different cases: the fewer processes work on one at a time, the sooner each gets the results that
/// its search needs, and none waits for the last configuration of a case while there is another case.
std::vector<std::size_t> RunCommand::case_order() const {
  std::vector<std::size_t> order(spec_.cases.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = (session_.first_case + i) % order.size();
  return order;
}

std::vector<Json> RunCommand::results() const {
  std::vector<Json> list;
  for (const auto& [number, json] : results_) list.push_back(json);
  return list;
}

void RunCommand::report_later(std::size_t number, const run::TuneResult& result) {
  if (options_.report.empty()) return;
  const auto spec = reported_.empty() ? std::make_shared<const spec::Spec>(spec_) : reported_.begin()->second.spec;
  reported_.insert_or_assign(number, report::report_case_of(spec, result));
}

void RunCommand::show(std::size_t number, const run::TuneResult& result, Json json) {
  report_later(number, result);
  if (spec_.objective.across != spec::ObjectiveSpec::Across::each) tuned_by_case_.emplace(number, result);
  if (!result.prediction &&
      !store::best_of(result.all(), store::Objective(spec_).criterion(result.problem, result.device)))
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
  say(report::run_text(spec_, result, options_.rows, terminal_width(STDOUT_FILENO), true));
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
  return spec_.objective.across != spec::ObjectiveSpec::Across::each && tuned_by_case_.size() > 1 && !predicts() &&
         !session_.ends();
}

void RunCommand::show_across() {
  for (std::size_t i = 0; i < tuned_.size(); ++i) report_later(i, tuned_[i]);
  std::vector<run::RunCase> cases;
  for (const run::TuneResult& each : tuned_) cases.push_back({&spec_, &each});
  const store::RecordSet stored = spec_.replays() ? store::RecordSet() : job_->stored(spec_, target_);
  tell_warnings(stored.warnings);
  const auto choice = run::choose_across(cases, target_, stored.records);
  if (!choice) code_ = nothing_valid;
  if (!options_.common.text()) {
    for (auto& [number, json] : results_) json["across"] = report::across_json(spec_, choice, number);
  } else {
    say(report::across_text(spec_, choice));
  }
}

int RunCommand::replay() {
  if (options_.tuning.sanitize) throw Error(ErrorKind::unsupported, "--sanitize: a replay runs no kernel");
  const std::unique_ptr<Replay> replay = open_replay(options_.path, options_.common, options_.recording);
  spec_ = replay->spec;
  apply(true);
  // The records are not measurements: they are kept only on request.
  kept_ = options_.common.store.empty() ? system::Kept::nothing : system::Kept::all;
  begin_job();
  std::optional<ProgressPrinter> printer;
  for (const std::size_t number : case_order()) {
    const Bindings& problem = spec_.cases[number];
    const std::unique_ptr<ReplayedCase> replayed = replay->open(session_.loop, problem);
    target_ = replayed->target;
    if (!printer) {
      join(target_.device.arch);
      if (speaks_) tell_notes(spec_);
      using enum ProgressPrinter::Verbosity;
      printer.emplace(spec_, options_.log, speaks_ ? quiet : warnings, session_.loop);
    }
    if (tells_progress())
      tell("{}: {}, replayed on {}; all times are simulated\n", spec_.kernel.name, replayed->recording,
           target_.device.name);
    const run::TuneResult result = tune_case(problem, replayed->services(session_.stop), *printer);
    Json json = report::run_json(spec_, result, options_.rows);
    json["simulated"] = true;
    json["recording"] = replayed->recording;
    show(number, result, std::move(json));
    if (options_.common.text())
      say(fmt::format("      replayed from {}: the seconds are simulated, nothing was measured\n",
                      replayed->recording));
    if (session_.ends()) break;
  }
  if (chooses_across()) {
    for (auto& [number, result] : tuned_by_case_) tuned_.push_back(std::move(result));
    show_across();
  }
  session_.kept = session_.kept && keeps();
  return code_;
}

namespace {

std::string device_line(const run::Target& target) {
  const std::string count = target.further.empty() ? "" : fmt::format("{} x ", target.further.size() + 1);
  return fmt::format("{} on {}{} ({}), compiler {}", target.backend.name, count, target.device.name, target.arch,
                     device::compiler_name(target.backend.toolchain));
}

/// Restores the clocks, also after an error of the run, and prints a warning if that fails.
struct RestoreClocks {
  void operator()(worker::LockedClocks* clocks) const {
    const std::unique_ptr<worker::LockedClocks> ended(clocks);
    try {
      if (const std::string warning = clocks->restore(); !warning.empty()) tell("warning: {}\n", warning);
    } catch (...) {  // a destructor never throws
    }
  }
};
using ClocksUntilEnd = std::unique_ptr<worker::LockedClocks, RestoreClocks>;

/// Fixes the clocks of the target's devices, whose facts then state it: the clock is part of every record and its key.
/// nullptr: they are not to be fixed.
ClocksUntilEnd lock_clocks(const std::string& wanted, run::Target& target) {
  if (wanted.empty()) return nullptr;
  if (device::is_emulated(target.device))
    throw Error(
        ErrorKind::unsupported,
        fmt::format(
            "--lock-clocks: {}: times are simulated, and there is no clock to fix. Run it without --lock-clocks",
            target.device.name));
  std::vector<int> devices{target.device.index};
  for (const device::DeviceInfo& further : target.further) devices.push_back(further.index);
  ClocksUntilEnd clocks(new worker::LockedClocks(
      worker::clocks_worker_words(target.backend.name, devices, wanted == "auto" ? 0 : std::stoi(wanted))));
  target.device.locked_clock_mhz = clocks->mhz().front();
  for (std::size_t i = 0; i < target.further.size(); ++i) target.further[i].locked_clock_mhz = clocks->mhz().at(i + 1);
  return clocks;
}

}  // namespace

RunCommand::RunCommand(const RunOptions& options, RunSession& session) : options_(options), session_(session) {}
RunCommand::~RunCommand() = default;

void RunCommand::apply(bool replaying) {
  run::apply(options_.search, spec_.search);
  if (predicts() && !(options_.report.empty() && options_.live.empty() && options_.lock_clocks.empty()))
    throw bad_argument("--report, --live and --lock-clocks are for measurements, and effort none makes none");
  if (spec_.space_only() && !replaying)
    throw Error(ErrorKind::invalid_spec,
                options_.path +
                    ": the spec describes only a space ([kernel] source is missing); `xtune space` reads it" +
                    (spec_.replays() ? ", and without --backend it replays a recording" : ""));
}

int RunCommand::go() {
  if (wants_replay(options_.path, options_.common, options_.recording)) {
    if (!options_.lock_clocks.empty())
      throw bad_argument("--lock-clocks fixes the clock of a device, and a replay has none");
    return replay();
  }
  kept_ = system::kept_in_store();
  using enum worker::TargetNeed;
  target_ = target_for(options_.path, options_.common, options_.search.effort == "none" ? device_or_named : device);
  if (options_.tuning.sanitize) require_sanitizable(target_.device);
  spec_ = read_spec(options_.path, options_.common, target_.backend.name);
  if (!options_.dry_run) join(target_.device.arch);
  if (speaks_) tell_notes(spec_);
  apply(false);
  init::check_signatures(spec_);
  put_before_program();
  if (options_.dry_run) return print_commands();
  run::check_objective(spec_, target_.device);

  if (speaks_) tell_no_gpu(target_, "tuning");
  if (tells_progress()) tell("{}: {}\n", spec_.kernel.name, device_line(target_));
  const ClocksUntilEnd clocks = lock_clocks(options_.lock_clocks, target_);
  if (clocks && tells_progress())
    tell("clock fixed at {} MHz until the end of the run\n", target_.device.locked_clock_mhz);
  system::remove_abandoned_temporaries();
  worker::JobWorkers workers(session_.loop, worker::job_count(options_.common.jobs, rank_ ? rank_->local_size : 1),
                             worker::JobWorkers::Orphans::kill);
  workers.add_benches(target_, options_.tuning.sanitize);
  const run::TuneServices services{session_.loop, workers.compiler(), workers.benches(), system::awake_clock(),
                                   session_.stop};
  begin_job();
  using enum ProgressPrinter::Verbosity;
  ProgressPrinter printer(spec_, options_.log, !speaks_ ? warnings : options_.quiet ? quiet : all, session_.loop);
  if (const std::string warning = worker::warning_of_unknown_sources(spec_); !warning.empty())
    printer.on_warning(warning);
  for (const std::string& warning : resolve::source_warnings(spec_)) printer.on_warning(warning);
  for (const std::size_t number : case_order()) {
    const run::TuneResult result = tune_case(spec_.cases[number], services, printer);
    printer.finish();
    show(number, result, report::run_json(spec_, result, options_.rows));
    if (session_.ends()) break;
  }
  if (chooses_across()) {
    for (auto& [number, result] : tuned_by_case_) tuned_.push_back(std::move(result));
    run::measure_across(
        store::Objective(spec_), tuned_,
        [&](std::size_t i, const std::vector<Bindings>& missing) {
          return tune_case(tuned_[i].problem, services, printer, missing);
        },
        [this] { return session_.ends(); });
    printer.finish();
    if (!session_.ends()) show_across();
  }
  session_.kept = session_.kept && keeps();
  return code_;
}

namespace {

void add_search_options(CLI::App& command, RunOptions& options) {
  const OptionGroup search(command, option_group::search);
  search.number("--evals", options.search.evals, 1, "Stop after this many configurations");
  search.value("--seconds", options.search.seconds, "S", "Stop after this much time")->check(positive("seconds"));
  search.words("--effort", options.search.effort, spec::effort_words(),
               "Predict a configuration and measure nothing, stop after 10 configurations, or use the whole budget");
  add_strategy_option(command, options.search.strategy);
  search.number("--top", options.top, 1,
                "Measure and list the N best in full; without it, the race drops configurations clearly slower than "
                "the best");
  search.flag("--fresh", options.tuning.fresh, "Measure again what the store already answers");
  add_keep_going_option(command, options.tuning.keep_going);
  search.flag("--retry-failed", options.tuning.retry_failed,
              "Try configurations again that crashed or timed out in an earlier run");
  search.words("--transfer", options.transfer, {"auto", "off"},
               "Let stored results of other devices and problems guide the search, or not");
  search.number("--seed", options.search.seed, 0, "Seed the search and the input data");
  add_recording_option(command, options.recording);
}

CLI::Validator auto_or(const char* what, bool (*fits)(const std::string& text)) {
  return {[what, fits](std::string& text) {
            return text == "auto" || fits(text) ? std::string() : "'" + text + "' is not " + what;
          },
          ""};
}

CLI::Validator clock_or_auto() {
  return auto_or("a clock in MHz, such as --lock-clocks=1410",
                 [](const std::string& text) { return text.size() <= 5 && number_in<unsigned>(text).value_or(0) > 0; });
}

CLI::Validator port_or_auto() {
  return auto_or("a port, such as --live=8000",
                 [](const std::string& text) { return number_in<std::uint16_t>(text).value_or(0) > 0; });
}

void add_job_options(CLI::App& command, RunOptions& options) {
  const OptionGroup job(command, option_group::job);
  job.value(
      "--walltime", options.walltime, "TIME",
      "Stop before this time is over: seconds, 1:00:00, 1-12:00:00, none, or auto: XTUNE_WALLTIME, else the limit "
      "of the batch job");
  job.flag("--requeue", options.requeue,
           "Ask the batch system to start the job again when its time ends before the search (or on SIGUSR1)");
  job.value("--partition", options.partition, "i/n",
            "Try only part i of n of the space, i from 0: runs with 0/4, 1/4, 2/4 and 3/4 try each configuration once");
}

void add_output_options(CLI::App& command, RunOptions& options) {
  const OptionGroup output(command, option_group::output);
  output.number("--rows", options.rows, 0, "List this many of the configurations that were measured in full");
  add_log_option(command, options.log, "outcome, times and compiler output");
  output.value("--report", options.report, "FILE", "Write an HTML report of the run to a file");
  command
      .add_flag("--live{auto}", options.live,
                "Serve the report on the loopback address while the run goes on, at a free port or --live=PORT")
      ->check(port_or_auto())
      ->group(option_group::output);
  add_quiet_option(command, options.quiet);
  output.flag("--dry-run", options.dry_run, "Print the commands of a [process] spec, and run nothing");
}

/// "i/n", "i:n". Throws Error(invalid_argument).
spec::Partition parse_partition(const std::string& text) {
  const std::size_t slash = std::min(text.size(), text.find_first_of("/:"));
  const auto part = number_in<std::uint64_t>(text.substr(0, slash));
  const auto count = number_in<std::uint64_t>(text.substr(std::min(text.size(), slash + 1)));
  if (!part || !count || *part >= *count)
    throw bad_argument("--partition '{}': write i/n with i from 0 to n - 1, for example 0/4",
                       base::printable(text, 80));
  return {*part, *count};
}

int run_given(RunOptions& options) {
  if (options.top) options.rows = options.tuning.top = *options.top;
  if (options.dry_run && options.common.csv()) throw bad_argument("--dry-run prints text or JSON, not CSV");
  if (!options.partition.empty()) options.common.partition = parse_partition(options.partition);
  if (auto direct = direct_spec(options.paths, options.direct, options.common)) {
    const bool is_file = !options.direct.write_spec.empty();
    options.paths = {is_file ? direct->place.string() : direct->place.filename().string()};
    if (!is_file) options.common.direct = std::make_shared<const DirectSpec>(std::move(*direct));
  }
  if (!options.common.direct) return run_specs(options);
  rewording() = [spec = options.common.direct](const std::string& text) { return in_options(*spec, text); };
  try {
    return run_specs(options);
  } catch (const Error& error) {
    throw Error(error.kind(), in_options(*options.common.direct, error.what()));
  }
}

}  // namespace

void add_run_command(CLI::App& app, Context& context) {
  const auto [command, options] =
      add_command<RunOptions>(app, context, "run", "Tune a kernel: compile, validate, measure and store",
                              "xtune run configs/gemm.toml -D M=8192 --evals 200", run_given);
  add_argument(
      command, "spec", options.paths, "SPEC",
      "Spec files, or suites that list them (TOML), or names that `xtune kernels` lists; or a kernel's source, "
      "with -p; or none, with a command behind --")
      ->required(false)
      ->transform(spec_named);
  add_search_options(command, options);
  add_direct_options(command, options.direct);
  add_common_options(command, options.common, true);
  add_sanitize_option(command, options.tuning.sanitize, ", which name the line of a bad access");
  const OptionGroup device(command, option_group::device);
  device.value("--exec-prefix", options.exec_prefix, "WORDS",
               "Put words before the run command of a [process] spec: \"numactl -N 0\", \"ncu -o report\"");
  add_jobs_option(command, options.common);
  command
      .add_flag("--lock-clocks{auto}", options.lock_clocks,
                "Fix the GPU's clock while the run lasts, at its default or at --lock-clocks=MHZ; needs root")
      ->check(clock_or_auto())
      ->group(option_group::device);
  add_job_options(command, options);
  add_output_options(command, options);
  add_store_option(command, options.common.store);
  for (const CLI::Option* const option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) options.direct.names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) options.direct.names.push_back("-" + name);
  }
}

}  // namespace xtune::cli
