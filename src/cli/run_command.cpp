// xtune run: tune every case of a spec on a device.
#include <fmt/core.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <random>

#include "backends/replay/services.hpp"
#include "backends/replay/target.hpp"
#include "base/files.hpp"
#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/progress.hpp"
#include "core/record/spec_fit.hpp"
#include "core/run/across.hpp"
#include "core/run/services.hpp"
#include "core/run/tuner.hpp"
#include "report/run_report.hpp"

namespace xtune::cli {
namespace {

// Where one configuration serves all cases, so many of each case's best are measured in the others as well.
constexpr std::size_t across_shortlist = 8;

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

/// Compilers of a replay, unless XTUNE_JOBS tells another count: the same on every machine, so that a run is.
std::size_t replay_jobs() {
  const char* given = std::getenv("XTUNE_JOBS");
  return given && *given ? default_jobs() : 8;
}

bool replays(const RunOptions& options) {
  if (options.common.backend == "replay") return true;
  if (!options.recording.empty() && options.common.backend != "auto")
    throw Error(ErrorKind::invalid_argument,
                "--recording is what --backend replay serves; backend " + options.common.backend + " measures");
  return !options.recording.empty() ||
         (options.common.backend == "auto" && read_spec(options.path, options.common, "").replays());
}

void apply(const RunOptions& options, Spec& spec, bool replaying) {
  if (!options.strategy.empty()) spec.search.strategy = options.strategy;
  if (options.evals) spec.search.evals = options.evals;
  if (options.seed) spec.search.seed = *options.seed;
  if (options.seconds) spec.search.seconds = options.seconds;
  if (spec.space_only() && !replaying)
    throw Error(ErrorKind::invalid_spec,
                options.path +
                    ": the spec describes a space alone ([kernel] source is missing); `xtune space` reads it" +
                    (spec.replays() ? ", and without --backend it replays a recording" : ""));
}

std::string device_line(const Target& target) {
  const std::string count = target.further.empty() ? "" : fmt::format("{} x ", target.further.size() + 1);
  return fmt::format("{} on {}{} ({}), compiler {}", target.backend.name, count, target.device.name, target.arch,
                     target.backend.toolchain);
}

class RunCommand {
 public:
  explicit RunCommand(const RunOptions& options) : options_(options) {}

  int go() {
    if (replays(options_)) return replay();
    cache_disabled_ = cache_disabled();
    target_ = choose_target(options_.common.target_options(TargetNeed::device));
    if (options_.sanitize && target_.device.vendor != "cpu")
      throw Error(ErrorKind::unsupported,
                  "--sanitize works with --backend host: AddressSanitizer cannot see a GPU's memory");
    spec_ = load_spec_for(options_.path, options_.common, target_);
    apply(options_, spec_, false);

    EventLoop loop;
    const std::vector<EventLoop::Watch> watches = watch_signals(loop);
    tell("{}: {}\n", spec_.kernel.name, device_line(target_));
    remove_abandoned_temporaries();
    const TemporaryDirectory temporaries;
    PooledCompileService compiler(loop, default_jobs(), compile_worker_command(default_jobs(), temporaries.path()));
    std::vector<std::unique_ptr<WorkerBenchService>> workers;
    std::vector<BenchService*> benches;
    for (std::size_t i = 0; i <= target_.further.size(); ++i) {
      const auto role = i == 0 ? WorkerBenchService::Role::first : WorkerBenchService::Role::further;
      workers.push_back(std::make_unique<WorkerBenchService>(loop, bench_worker_command(options_.sanitize), role));
      benches.push_back(workers.back().get());
    }
    ProgressPrinter printer(spec_, options_.log, options_.quiet);
    for (const Bindings& problem : spec_.cases) {
      const TuneResult result = tune_case(problem, loop, compiler, benches, system_clock(), printer);
      printer.finish();
      show(result, run_json(spec_, result, options_.rows));
      if (spec_.objective.across != ObjectiveSpec::Across::each) tuned_.push_back(result);
      if (stop_) break;
    }
    if (chooses_across()) {
      const Objective objective(spec_);
      const std::vector<Bindings> listed = shortlist(objective, tuned_, across_shortlist);
      for (TuneResult& each : tuned_) {
        const std::vector<Bindings> missing = not_measured(each, listed);
        if (missing.empty() || stop_) continue;
        TuneResult more = tune_case(each.problem, loop, compiler, benches, system_clock(), printer, missing);
        each.further.insert(each.further.end(), more.records.begin(), more.records.end());
      }
      printer.finish();
      if (!stop_) show_across(objective);
    }
    return finish();
  }

 private:
  int recorded_device() const {
    const std::vector<int> devices = options_.common.devices();
    if (devices.size() > 1)
      throw Error(ErrorKind::invalid_argument, "--device " + options_.common.device + ": a replay has one device");
    return devices.empty() ? 0 : devices.front();
  }

  /// The same loop over recordings, in simulated time.
  int replay() {
    if (options_.sanitize) throw Error(ErrorKind::unsupported, "--sanitize: a replay runs no kernel");
    spec_ = read_spec(options_.path, options_.common, "");
    for (const std::string& note : spec_.notes) tell("{}\n", note);
    spec_.kernel.backend = "replay";
    apply(options_, spec_, true);
    replay::prepare(spec_);
    if (options_.recording.empty() && spec_.kernel.recording.empty())
      throw Error(ErrorKind::invalid_argument,
                  "nothing to replay: name a recording with --recording, or in the spec as [kernel] recording");
    const std::vector<Recording> recordings = read_given_recordings(
        options_.recording.empty() ? spec_.kernel.recording : std::filesystem::path(options_.recording));
    for (const Recording& recording : recordings) warn_of(recording);
    EventLoop loop;
    const std::vector<EventLoop::Watch> watches = watch_signals(loop);
    ProgressPrinter printer(spec_, options_.log, true);
    for (const Bindings& problem : spec_.cases) {
      const Recording& recording =
          replay::choose_recording(recordings, spec_, problem, options_.common.arch, recorded_device());
      target_ = replay::target_of(recording);
      const Space space = make_space(spec_, problem, device_facts(target_.device));
      if (const std::uint64_t known = replay::recorded_of(space, recording); known < space.size())
        tell("warning: {} of {} configurations are not in the recording: they count as rejected\n",
             space.size() - known, space.size());
      tell("{}: {}, replayed on {}; all times are simulated\n", spec_.kernel.name, recording.name,
           recording.device.name);
      replay::Simulation simulation(loop, system_clock().unix_time_ms());
      replay::RecordedAnswers answers(recording);
      replay::ReplayCompileService compiler(simulation, answers, replay_jobs());
      replay::ReplayBenchService bench(simulation, answers);
      const TuneResult result = tune_case(problem, loop, compiler, {&bench}, simulation, printer);
      nlohmann::ordered_json json = run_json(spec_, result, options_.rows);
      json["simulated"] = true;
      json["recording"] = recording.name;
      show(result, std::move(json));
      if (spec_.objective.across != ObjectiveSpec::Across::each) tuned_.push_back(result);
      if (!options_.common.json())
        fmt::print("      replayed from {}: the seconds are simulated, nothing was measured\n", recording.name);
      if (stop_) break;
    }
    if (chooses_across()) show_across(Objective(spec_));
    return finish();
  }

  bool chooses_across() const {
    return spec_.objective.across != ObjectiveSpec::Across::each && tuned_.size() > 1 && !stop_;
  }

  /// One configuration for all cases.
  void show_across(const Objective& objective) {
    std::vector<CaseRecords> cases;
    for (const TuneResult& each : tuned_) cases.push_back(records_of(each));
    // What else is stored counts, so that `xtune best` answers the same.
    std::vector<Record> stored;
    if (stored_counts()) stored = stored_records(spec_, options_.common, target_);
    for (CaseRecords& each : cases) {
      SpecFit fit(spec_, each.problem, target_.device, target_.arch, target_.backend.toolchain);
      for (const Record* record : answering(stored, each.problem, each.device, fit.rules()))
        each.records.push_back(record);
    }
    const auto choice = choose_across(objective, spec_.objective.across, cases);
    if (!choice) code_ = nothing_valid;
    if (options_.common.json()) {
      for (std::size_t i = 0; i < results_.size(); ++i) results_[i]["across"] = across_json(spec_, choice, i);
    } else {
      fmt::print("{}", across_text(spec_, choice));
      std::fflush(stdout);
    }
  }

  bool stored_counts() const { return keeps() && !spec_.replays() && !options_.fresh && !options_.sanitize; }

  std::vector<EventLoop::Watch> watch_signals(EventLoop& loop) {
    std::vector<EventLoop::Watch> watches;
    for (const int signum : {SIGINT, SIGTERM, SIGHUP})
      watches.push_back(loop.on_signal(signum, [this] { stop_ = true; }));
    return watches;
  }

  void show(const TuneResult& result, nlohmann::ordered_json json) {
    if (!best_of(result.all(), Objective(spec_).criterion(result.problem, result.device))) code_ = nothing_valid;
    if (options_.common.json())
      results_.push_back(std::move(json));
    else
      print_text(result);
  }

  int finish() const {
    if (options_.common.json()) print_json(results_);
    if (!stop_) return code_;
    tell("xtune: interrupted; {}\n", keeps() ? "what was measured is kept, and the next run goes on from there"
                                     : spec_.replays() ? "a replay keeps nothing without --store"
                                                       : "with XTUNE_DISABLE_CACHE nothing is kept");
    return interrupted;
  }

  /// A replay's records are nobody's measurements: they are kept only where somebody asks for them.
  bool keeps() const { return spec_.replays() ? !options_.common.store.empty() : !cache_disabled_; }

  TuneResult tune_case(const Bindings& problem, EventLoop& loop, CompileService& compiler,
                       const std::vector<BenchService*>& benches, Clock& clock, ProgressPrinter& printer,
                       std::vector<Bindings> only = {}) {
    const TemporaryDirectory scratch;
    TuneOptions options;
    options.store = keeps() ? options_.common.store_path() : scratch.path() / "store";
    options.scratch = scratch.path();
    options.attempt = new_attempt();
    options.sanitize = options_.sanitize;
    options.fresh = options_.fresh;
    options.retry_failed = options_.retry_failed;
    options.transfer = options_.transfer == "auto";
    options.check_on_device = target_.device.vendor != "cpu" && target_.backend.name != "replay";
    options.only = std::move(only);
    return tune(spec_, problem, target_, options, loop, compiler, benches, clock, printer, stop_);
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
  int code_ = done;
  bool cache_disabled_ = false;
  std::vector<nlohmann::ordered_json> results_;
  std::vector<TuneResult> tuned_;  ///< by case
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
  command
      ->add_option(
          "--transfer", options.transfer,
          "auto: stored records of the same kernel on other devices and problems guide the search; off: they do "
          "not")
      ->check(CLI::IsMember({"auto", "off"}))
      ->capture_default_str();
  command->add_option("--recording", options.recording,
                      "with --backend replay: serve this instead of measuring; a Kernel Tuner cache, a record file, or "
                      "the folder of a store");
  command->add_option("--evals", options.evals, "configurations to try at most")->check(whole_number(1));
  command->add_option("--seconds", options.seconds, "wall clock to spend at most")->check(positive_seconds());
  command->add_option("--seed", options.seed, "of the search and of the input data")->check(whole_number(0));
  command->add_option("--top,--rows", options.rows, "the best configurations to list, with their intervals")
      ->check(whole_number(0))
      ->capture_default_str();
  command
      ->add_option("--log", options.log, "append each configuration's outcome, times and compiler output to this file")
      ->envname("XTUNE_LOG");
  command->add_flag(
      "--sanitize", options.sanitize,
      "host backend: compile kernels with AddressSanitizer and UBSan, which name the line of a bad access");
  command->add_flag("--fresh", options.fresh, "measure again what the store already answers");
  command->add_flag(
      "--retry-failed", options.retry_failed,
      "try configurations again that crashed (a compiler out of memory too) or timed out in an earlier run");
  command->add_flag("--quiet", options.quiet, "no progress on standard error");
  command->callback([&context] { context.exit_code = RunCommand(options).go(); });
}

}  // namespace xtune::cli
