// xtune run: tune every case of a spec on a device.
#include "cli/run_command.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/chosen_store.hpp"
#include "base/files.hpp"
#include "base/text.hpp"
#include "cli/replayed_case.hpp"
#include "cli/spec_list.hpp"
#include "core/device/backend_facts.hpp"
#include "core/resolve/source_warnings.hpp"
#include "core/run/across.hpp"
#include "core/target/program_target.hpp"
#include "ipc/job_count.hpp"
#include "ipc/locked_clocks.hpp"
#include "ipc/services.hpp"
#include "report/run_report.hpp"

namespace xtune::cli {
namespace {

std::string device_line(const target::Target& target) {
  const std::string count = target.further.empty() ? "" : fmt::format("{} x ", target.further.size() + 1);
  return fmt::format("{} on {}{} ({}), compiler {}", target.backend.name, count, target.device.name, target.arch,
                     device::compiler_name(target.backend.toolchain));
}

/// Fixes the clocks of the target's devices, whose facts then state it: the clock is part of every record and its key.
/// nullptr: they are not to be fixed.
std::unique_ptr<ipc::LockedClocks> lock_clocks(const std::string& wanted, target::Target& target) {
  if (wanted.empty()) return nullptr;
  if (device::is_emulated(target.device))
    throw Error(
        ErrorKind::unsupported,
        fmt::format(
            "--lock-clocks: {}: times are simulated, and there is no clock to fix. Run it without --lock-clocks",
            target.device.name));
  std::vector<int> devices{target.device.index};
  for (const device::DeviceInfo& further : target.further) devices.push_back(further.index);
  auto clocks = std::make_unique<ipc::LockedClocks>(
      ipc::clocks_worker_words(target.backend.name, devices, wanted == "auto" ? 0 : std::stoi(wanted)));
  target.device.locked_clock_mhz = clocks->mhz().front();
  for (std::size_t i = 0; i < target.further.size(); ++i) target.further[i].locked_clock_mhz = clocks->mhz().at(i + 1);
  return clocks;
}

/// Restores the clocks when it is destroyed, also by an error of the run, and prints a warning if that fails.
class RestoreAtEnd {
 public:
  explicit RestoreAtEnd(ipc::LockedClocks* clocks) : clocks_(clocks) {}
  ~RestoreAtEnd() {
    try {
      if (!clocks_) return;
      if (const std::string warning = clocks_->restore(); !warning.empty()) tell("warning: {}\n", warning);
    } catch (...) {  // a destructor never throws
    }
  }
  RestoreAtEnd(const RestoreAtEnd&) = delete;
  RestoreAtEnd& operator=(const RestoreAtEnd&) = delete;

 private:
  ipc::LockedClocks* clocks_;
};

}  // namespace

RunCommand::RunCommand(const RunOptions& options, RunSession& session) : options_(options), session_(session) {}
RunCommand::~RunCommand() = default;

void RunCommand::apply(bool replaying) {
  run::apply(options_.search, spec_.search);
  if (spec_.space_only() && !replaying)
    throw Error(ErrorKind::invalid_spec,
                options_.path +
                    ": the spec describes only a space ([kernel] source is missing); `xtune space` reads it" +
                    (spec_.replays() ? ", and without --backend it replays a recording" : ""));
}

int RunCommand::go() {
  if (wants_replay(options_.path, options_.common, options_.recording)) {
    if (!options_.lock_clocks.empty())
      throw Error(ErrorKind::invalid_argument, "--lock-clocks fixes the clock of a device, and a replay has none");
    return replay();
  }
  kept_ = base::kept_in_store();
  target_ = target_for(options_.path, options_.common, target::TargetNeed::device);
  if (options_.tuning.sanitize) require_sanitizable(target_.device);
  spec_ = read_spec(options_.path, options_.common, target_.backend.name);
  if (!options_.dry_run) join(target_.device.arch);
  if (speaks_) tell_notes(spec_);
  apply(false);
  put_before_program();
  if (options_.dry_run) return print_commands();

  if (speaks_) tell_no_gpu(target_, "tuning");
  if (tells_progress()) tell("{}: {}\n", spec_.kernel.name, device_line(target_));
  const std::unique_ptr<ipc::LockedClocks> clocks = lock_clocks(options_.lock_clocks, target_);
  const RestoreAtEnd restore(clocks.get());
  if (clocks && tells_progress())
    tell("clock fixed at {} MHz until the end of the run\n", target_.device.locked_clock_mhz);
  base::remove_abandoned_temporaries();
  run::JobWorkers workers(session_.loop, ipc::job_count(options_.common.jobs, rank_ ? rank_->local_size : 1),
                          run::JobWorkers::Orphans::kill);
  workers.add_benches(target_, options_.tuning.sanitize);
  const run::TuneServices services{session_.loop, workers.compiler(), workers.benches(), base::awake_clock(),
                                   session_.stop};
  begin_job();
  using enum ProgressPrinter::Verbosity;
  ProgressPrinter printer(spec_, options_.log, !speaks_ ? warnings : options_.quiet ? quiet : all, session_.loop);
  if (const std::string warning = target::warning_of_unknown_sources(spec_); !warning.empty())
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
        record::Objective(spec_), tuned_,
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
  std::vector<CLI::Option*> added;
  const auto add = [&](CLI::Option* option) {
    added.push_back(option);
    return option;
  };
  add(command.add_option("--evals", options.search.evals, "Stop after this many configurations"))
      ->check(whole_number(1))
      ->type_name("N");
  add(command.add_option("--seconds", options.search.seconds, "Stop after this much time"))
      ->check(positive_seconds())
      ->type_name("S");
  add(add_strategy_option(command, options.search.strategy));
  add(command.add_option(
          "--top", options.tuning.top,
          "Measure and list the N best in full; without it, the race drops configurations clearly slower than "
          "the best"))
      ->check(whole_number(1))
      ->type_name("N");
  add(command.add_flag("--fresh", options.tuning.fresh, "Measure again what the store already answers"));
  add(command.add_flag("--retry-failed", options.tuning.retry_failed,
                       "Try configurations again that crashed or timed out in an earlier run"));
  restrict_to(add(command.add_option("--transfer", options.transfer,
                                     "Let stored results of other devices and problems guide the search, or not")),
              {"auto", "off"})
      ->capture_default_str();
  add(command.add_option("--seed", options.search.seed, "Seed the search and the input data"))
      ->check(whole_number(0))
      ->type_name("N");
  for (CLI::Option* const option : added) option->group(option_group::search);
  add_recording_option(command, options.recording);
}

CLI::Validator clock_or_auto() {
  return {[](std::string& text) {
            const bool digits =
                !text.empty() && text.size() <= 5 && text.find_first_not_of("0123456789") == std::string::npos;
            if (text == "auto" || (digits && std::stoi(text) > 0)) return std::string();
            return "'" + text + "' is not a clock in MHz, such as --lock-clocks=1410";
          },
          ""};
}

void add_job_options(CLI::App& command, RunOptions& options) {
  command
      .add_option("--walltime", options.walltime,
                  "Stop before this time is over: seconds, 1:00:00, 1-12:00:00, none, or auto: XTUNE_WALLTIME, else "
                  "the limit of the Slurm job")
      ->type_name("TIME")
      ->capture_default_str()
      ->group(option_group::job);
  command
      .add_flag("--requeue", options.requeue,
                "Ask Slurm to start the job again when its time ends before the search (or on SIGUSR1)")
      ->group(option_group::job);
  command
      .add_option("--partition", options.partition,
                  "Try only part i of n of the space, i from 0: runs with 0/4, 1/4, 2/4 and 3/4 try each configuration "
                  "once")
      ->type_name("i/n")
      ->group(option_group::job);
}

void add_output_options(CLI::App& command, RunOptions& options) {
  command.add_option("--rows", options.rows, "List this many of the configurations that were measured in full")
      ->check(whole_number(0))
      ->type_name("N")
      ->capture_default_str()
      ->group(option_group::output);
  add_log_option(command, options.log, "outcome, times and compiler output");
  command.add_option("--report", options.report, "Write an HTML report of the run to a file")
      ->type_name("FILE")
      ->group(option_group::output);
  command.add_flag("--quiet", options.quiet, "Print no progress on standard error")->group(option_group::output);
  command.add_flag("--dry-run", options.dry_run, "Print the commands of a [process] spec, and run nothing")
      ->group(option_group::output);
}

}  // namespace

void add_run_command(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand("run", "Tune a kernel: compile, validate, measure and store");
  add_example(*command, "xtune run configs/gemm.toml -D M=8192 --evals 200");
  static RunOptions options;
  add_specs_argument(*command, options.paths);
  add_search_options(*command, options);
  add_common_options(*command, options.common, true);
  command
      ->add_flag("--sanitize", options.tuning.sanitize,
                 "Compile kernels of the host backend with AddressSanitizer and UBSan, which name the line of a bad "
                 "access")
      ->group(option_group::device);
  command
      ->add_option("--exec-prefix", options.exec_prefix,
                   "Put words before the run command of a [process] spec: \"numactl -N 0\", \"ncu -o report\"")
      ->type_name("WORDS")
      ->group(option_group::device);
  add_jobs_option(*command, options.common);
  command
      ->add_flag("--lock-clocks{auto}", options.lock_clocks,
                 "Fix the GPU's clock while the run lasts, at its default or at --lock-clocks=MHZ; needs root")
      ->check(clock_or_auto())
      ->group(option_group::device);
  add_job_options(*command, options);
  add_output_options(*command, options);
  add_store_option(*command, options.common.store);
  command->callback([&context, command] {
    if (command->count("--top") > 0) options.rows = options.tuning.top;
    if (options.dry_run && options.common.csv())
      throw Error(ErrorKind::invalid_argument, "--dry-run prints text or JSON, not CSV");
    if (!options.partition.empty()) options.common.partition = parse_partition(options.partition);
    context.exit_code = run_specs(options);
  });
}

}  // namespace xtune::cli
