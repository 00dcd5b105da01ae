// xtune run: tune every case of a spec on a device.
#include <fmt/core.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <random>

#include "base/files.hpp"
#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/progress.hpp"
#include "core/run/services.hpp"
#include "core/run/tuner.hpp"
#include "report/run_report.hpp"

namespace xtune::cli {
namespace {

struct RunOptions {
  CommonOptions common;
  std::string path;
  std::string log;
  std::string strategy;
  std::optional<std::uint64_t> evals, seed;
  std::optional<double> seconds;
  std::size_t rows = 10;
  bool sanitize = false, fresh = false, retry_failed = false, quiet = false;
};

bool cache_disabled() {
  const char* const value = std::getenv("XTUNE_DISABLE_CACHE");
  const std::string text = value ? value : "";
  for (const char* no : {"", "0", "false", "no", "off"})
    if (text == no) return false;
  for (const char* yes : {"1", "true", "yes", "on"})
    if (text == yes) return true;
  throw Error(ErrorKind::invalid_argument,
              "XTUNE_DISABLE_CACHE='" + printable(text, 80) + "': set it to 1 to keep nothing, or to 0");
}

std::string new_attempt() {
  std::random_device entropy;
  return fmt::format("{:08x}{:08x}", entropy(), entropy());
}

void apply(const RunOptions& options, Spec& spec) {
  if (!options.strategy.empty()) spec.search.strategy = options.strategy;
  if (options.evals) spec.search.evals = options.evals;
  if (options.seed) spec.search.seed = *options.seed;
  if (options.seconds) spec.search.seconds = options.seconds;
  if (spec.space_only())
    throw Error(
        ErrorKind::invalid_spec,
        options.path + ": the spec describes a space alone ([kernel] source is missing); `xtune space` reads it");
}

std::string device_line(const Target& target) {
  return fmt::format("{} on {} ({}), compiler {}", target.backend.name, target.device.name, target.arch,
                     target.backend.toolchain);
}

class RunCommand {
 public:
  explicit RunCommand(const RunOptions& options) : options_(options) {}

  int go() {
    cache_disabled_ = cache_disabled();
    target_ = choose_target(options_.common.target_options(true));
    if (options_.sanitize && target_.device.vendor != "cpu")
      throw Error(ErrorKind::unsupported,
                  "--sanitize works with --backend host: AddressSanitizer cannot see a GPU's memory");
    spec_ = load_spec_for(options_.path, options_.common, target_);
    apply(options_, spec_);
    if (spec_.candidates)
      fmt::print(stderr, "warning: {}: [candidates] is not used in this version; the search starts without its hints\n",
                 to_string(spec_.candidates->at));

    EventLoop loop;
    const auto ask_to_stop = [this] { stop_ = true; };
    const EventLoop::Watch watches[] = {loop.on_signal(SIGINT, ask_to_stop), loop.on_signal(SIGTERM, ask_to_stop),
                                        loop.on_signal(SIGHUP, ask_to_stop)};
    fmt::print(stderr, "{}: {}\n", spec_.kernel.name, device_line(target_));
    const TemporaryDirectory temporaries;
    PooledCompileService compiler(loop, default_jobs(), compile_worker_command(default_jobs(), temporaries.path()));
    WorkerBenchService bench(loop, bench_worker_command(options_.sanitize));
    ProgressPrinter printer(spec_, options_.log, options_.quiet);
    int code = done;
    for (const Bindings& problem : spec_.cases) {
      const TuneResult result = tune_case(problem, loop, compiler, bench, printer);
      printer.finish();
      const bool any = best_of(result.records).has_value();
      if (options_.common.json())
        results_.push_back(run_json(spec_, result));
      else
        print_text(result);
      if (!any) code = nothing_valid;
      if (stop_) break;
    }
    if (options_.common.json()) print_json(results_);
    if (!stop_) return code;
    fmt::print(stderr, "xtune: interrupted; what was measured is kept, and the next run goes on from there\n");
    return interrupted;
  }

 private:
  TuneResult tune_case(const Bindings& problem, EventLoop& loop, CompileService& compiler, BenchService& bench,
                       ProgressPrinter& printer) {
    const TemporaryDirectory scratch;
    TuneOptions options;
    options.store = cache_disabled_ ? scratch.path() / "store" : options_.common.store_path();
    options.scratch = scratch.path();
    options.attempt = new_attempt();
    options.sanitize = options_.sanitize;
    options.fresh = options_.fresh;
    options.retry_failed = options_.retry_failed;
    return tune(spec_, problem, target_, options, loop, compiler, bench, system_clock(), printer, stop_);
  }

  void print_text(const TuneResult& result) const {
    if (!result.problem.empty()) fmt::print("\nproblem: {}\n", bindings_text(result.problem));
    fmt::print("{}", run_text(spec_, result, options_.rows));
    std::fflush(stdout);
  }

  const RunOptions& options_;
  Target target_;
  Spec spec_;
  std::atomic<bool> stop_{false};
  bool cache_disabled_ = false;
  std::vector<nlohmann::ordered_json> results_;
};

}  // namespace

void add_run_command(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand(
      "run", "tunes a kernel: compiles, validates and measures configurations, and keeps what it finds");
  add_example(*command, "xtune run configs/gemm.toml -D M=8192 --evals 200");
  static RunOptions options;
  add_spec_argument(*command, options.path);
  add_common_options(*command, options.common);
  command->add_option("--strategy", options.strategy, "search strategy, instead of the spec's");
  command->add_option("--evals", options.evals, "configurations to try at most")->check(whole_number(1));
  command->add_option("--seconds", options.seconds, "wall clock to spend at most")->check(positive_seconds());
  command->add_option("--seed", options.seed, "of the search and of the input data")->check(whole_number(0));
  command->add_option("--rows", options.rows, "configurations to list in the result table")
      ->check(whole_number(0))
      ->capture_default_str();
  command->add_option("--log", options.log,
                      "append each configuration's outcome, times and compiler output to this file");
  command->add_flag(
      "--sanitize", options.sanitize,
      "host backend: compile kernels with AddressSanitizer and UBSan, which name the line of a bad access");
  command->add_flag("--fresh", options.fresh, "measure again what the store already answers");
  command->add_flag("--retry-failed", options.retry_failed,
                    "try configurations again that crashed or timed out in an earlier run");
  command->add_flag("--quiet", options.quiet, "no progress on standard error");
  command->callback([&context] { context.exit_code = RunCommand(options).go(); });
}

}  // namespace xtune::cli
