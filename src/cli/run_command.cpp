// xtune run: tune every case of a spec on a device.
#include "cli/run_command.hpp"

#include <nlohmann/json.hpp>

#include "base/chosen_store.hpp"
#include "base/files.hpp"
#include "base/text.hpp"
#include "cli/spec_list.hpp"
#include "core/run/across.hpp"
#include "core/target/program_target.hpp"
#include "ipc/services.hpp"
#include "report/run_report.hpp"

namespace xtune::cli {
namespace {

std::string device_line(const target::Target& target) {
  const std::string count = target.further.empty() ? "" : fmt::format("{} x ", target.further.size() + 1);
  std::string line = fmt::format("{} on {}{} ({}), compiler {}", target.backend.name, count, target.device.name,
                                 target.arch, target.backend.toolchain);
  // Who expects the GPU must not take the CPU's times for its own.
  for (const std::string& failure : target.failed) line += "; not used: " + base::printable(failure, 300);
  return line;
}

}  // namespace

RunCommand::RunCommand(const RunOptions& options, RunSession& session) : options_(options), session_(session) {}
RunCommand::~RunCommand() = default;

bool RunCommand::replays() const {
  if (options_.common.backend == "replay") return true;
  if (!options_.recording.empty() && options_.common.backend != "auto")
    throw Error(ErrorKind::invalid_argument,
                "--recording is what --backend replay serves; backend " + options_.common.backend + " measures");
  return !options_.recording.empty() ||
         (options_.common.backend == "auto" && read_spec(options_.path, options_.common, "").replays());
}

void RunCommand::apply(bool replaying) {
  run::apply(options_.search, spec_.search);
  if (spec_.space_only() && !replaying)
    throw Error(ErrorKind::invalid_spec,
                options_.path +
                    ": the spec describes a space alone ([kernel] source is missing); `xtune space` reads it" +
                    (spec_.replays() ? ", and without --backend it replays a recording" : ""));
}

int RunCommand::go() {
  if (replays()) return replay();
  cache_disabled_ = base::cache_disabled();
  target_ = target_for(options_.path, options_.common, target::TargetNeed::device);
  if (options_.tuning.sanitize && !device::is_cpu(target_.device))
    throw Error(ErrorKind::unsupported,
                "--sanitize works with --backend host: AddressSanitizer cannot see a GPU's memory");
  spec_ = read_spec(options_.path, options_.common, target_.backend.name);
  if (!options_.dry_run) join(target_.device.arch);
  if (speaks_) tell_notes(spec_);
  apply(false);
  put_before_program();
  if (options_.dry_run) return print_commands();

  if (tells_progress()) tell("{}: {}\n", spec_.kernel.name, device_line(target_));
  base::remove_abandoned_temporaries();
  run::JobWorkers workers(session_.loop, ipc::default_jobs(rank_ ? rank_->local_size : 1),
                          run::JobWorkers::Orphans::kill);
  workers.add_benches(target_, options_.tuning.sanitize);
  const run::TuneServices services{session_.loop, workers.compiler(), workers.benches(), base::awake_clock(),
                                   session_.stop};
  begin_job();
  using enum ProgressPrinter::Verbosity;
  ProgressPrinter printer(spec_, options_.log, !speaks_ ? warnings : options_.quiet ? quiet : all);
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

void add_run_command(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand(
      "run", "tunes a kernel: compiles, validates and measures configurations, and keeps what it finds");
  add_example(*command, "xtune run configs/gemm.toml -D M=8192 --evals 200");
  static RunOptions options;
  add_specs_argument(*command, options.paths);
  add_common_options(*command, options.common, true);
  command->add_option("--strategy", options.search.strategy, "search strategy, instead of the spec's");
  command
      ->add_option(
          "--transfer", options.transfer,
          "auto: stored records of the same kernel on other devices and problems guide the search; off: they do "
          "not")
      ->check(one_of({"auto", "off"}))
      ->capture_default_str();
  command->add_option("--recording", options.recording,
                      "with --backend replay: serve this instead of measuring; a Kernel Tuner cache, a record file, or "
                      "the folder of a store");
  command->add_option("--evals", options.search.evals, "configurations to try at most")->check(whole_number(1));
  command->add_option("--seconds", options.search.seconds, "wall clock to spend at most")->check(positive_seconds());
  command->add_option("--seed", options.search.seed, "of the search and of the input data")->check(whole_number(0));
  command->add_option("--rows", options.rows, "configurations to list, of those that were measured in full")
      ->check(whole_number(0))
      ->capture_default_str();
  command
      ->add_option("--top", options.tuning.top,
                   "measure the N best in full, whoever wins, and list them with their intervals; without it the race "
                   "drops what is clearly slower than the best")
      ->check(whole_number(1));
  command
      ->add_option("--log", options.log, "append each configuration's outcome, times and compiler output to this file")
      ->envname("XTUNE_LOG");
  command->add_flag(
      "--sanitize", options.tuning.sanitize,
      "host backend: compile kernels with AddressSanitizer and UBSan, which name the line of a bad access");
  command->add_option("--partition", options.partition,
                      "i/n: of n runs that share the space this is number i, from 0: 0/4, 1/4, 2/4 and 3/4 try each "
                      "configuration once");
  command->add_option("--exec-prefix", options.exec_prefix,
                      "[process]: words put before the run command, such as \"numactl -N 0\" or \"ncu -o report\"");
  command->add_flag("--dry-run", options.dry_run, "[process]: print the commands, and run nothing");
  command
      ->add_option("--walltime", options.walltime,
                   "stop by itself before this is over: seconds, 1:00:00, 1-12:00:00, none, or auto: XTUNE_WALLTIME, "
                   "else what Slurm says of the job")
      ->capture_default_str();
  command->add_flag("--requeue", options.requeue,
                    "where time ends before the work (or SIGUSR1 says so), ask Slurm to start the job again");
  command->add_flag("--fresh", options.tuning.fresh, "measure again what the store already answers");
  command->add_flag(
      "--retry-failed", options.tuning.retry_failed,
      "try configurations again that crashed (a compiler out of memory too) or timed out in an earlier run");
  command->add_option("--report", options.report, "write an HTML report of the run to this file");
  command->add_flag("--quiet", options.quiet, "no progress on standard error");
  command->callback([&context, command] {
    if (command->count("--top") > 0) options.rows = options.tuning.top;
    if (options.dry_run && options.common.csv())
      throw Error(ErrorKind::invalid_argument, "--dry-run prints text or JSON, not CSV");
    if (!options.partition.empty()) options.common.partition = parse_partition(options.partition);
    context.exit_code = run_specs(options);
  });
}

}  // namespace xtune::cli
