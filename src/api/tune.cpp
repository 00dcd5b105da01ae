// tune(): a run of the tuner for a caller in this process.
#include "xtune/tune.hpp"

#include <fmt/core.h>

#include <cmath>
#include <memory>

#include "api/application_memory.hpp"
#include "api/attachments.hpp"
#include "api/in_process.hpp"
#include "api/measurement.hpp"
#include "api/problem.hpp"
#include "api/program_finder.hpp"
#include "api/run_turn.hpp"
#include "api/stoppable_loop.hpp"
#include "api/tunable_access.hpp"
#include "api/tunable_state.hpp"
#include "backends/backend.hpp"
#include "base/files.hpp"
#include "core/run/attempt.hpp"
#include "core/run/services.hpp"
#include "core/run/tuner.hpp"
#include "xtune/error.hpp"

namespace xtune {
namespace {

[[noreturn]] void refuse(const std::string& what) { throw Error(ErrorKind::invalid_argument, "settings: " + what); }

void check(const TuneSettings& settings) {
  if (settings.evals && *settings.evals == 0) refuse("evals is 0; at least one configuration must be tried");
  if (settings.seconds && !(*settings.seconds > 0 && std::isfinite(*settings.seconds)))
    refuse(fmt::format("seconds is {}; give a number above 0", *settings.seconds));
  if (settings.jobs > 4096) refuse(fmt::format("jobs is {}; at most 4096 compilers run at once", settings.jobs));
  if (settings.isolation == Isolation::in_process && settings.devices.size() > 1)
    refuse("isolation = in_process measures on one device");
  if (!settings.configs.empty() && settings.configs_of) refuse("configs and configs_of exclude each other");
}

void apply(const TuneSettings& settings, Spec& spec) {
  if (!settings.strategy.empty()) spec.search.strategy = settings.strategy;
  if (settings.evals) spec.search.evals = settings.evals;
  if (settings.seconds) spec.search.seconds = settings.seconds;
  if (settings.seed) spec.search.seed = *settings.seed;
}

Target target_of(const TuneSettings& settings) {
  TargetOptions options;
  options.backend = settings.backend.empty() ? "auto" : settings.backend;
  options.devices = settings.devices;
  Target target = choose_target(options);
  if (settings.isolation == Isolation::in_process) {
    const auto current = settings.devices.empty() ? current_device(target.backend.name) : std::nullopt;
    if (current) target.device = choose_devices(target.backend, {*current}).front();
    target.further.clear();
  }
  return target;
}

/// Passes on what the tuner tells.
class Listener final : public TuneObserver {
 public:
  Listener(const TuneSettings& settings, const Spec& spec, const std::string& attempt)
      : settings_(settings), spec_(spec), attempt_(attempt) {}
  void on_record(const Record& record, const std::string& log, bool /*from_store*/) override {
    if (settings_.on_measurement) settings_.on_measurement(measurement_of(spec_, record, attempt_), log);
  }
  void on_progress(const Progress& progress) override {
    if (!settings_.on_progress) return;
    TuneProgress told;
    told.done = progress.done;
    told.total = progress.total;
    told.from_store = progress.from_store;
    told.compiling = progress.compiling;
    told.waiting = progress.waiting;
    told.elapsed_s = progress.elapsed_s;
    if (progress.best) told.best_ms = statistic(progress.best->time_ms, spec_.measure.statistic);
    settings_.on_progress(told);
  }
  void on_note(const std::string& text) override {
    if (settings_.on_log) settings_.on_log(text);
  }
  void on_warning(const std::string& text) override {
    warnings.push_back(text);
    if (settings_.on_log) settings_.on_log("warning: " + text);
  }
  std::vector<std::string> warnings;

 private:
  const TuneSettings& settings_;
  const Spec& spec_;
  const std::string& attempt_;
};

/// The bench services of one run, and what stands in front of them.
struct Benches {
  std::vector<std::unique_ptr<BenchService>> owned;
  std::vector<BenchService*> used;

  void add(std::unique_ptr<BenchService> service) { used.push_back(owned.emplace_back(std::move(service)).get()); }
  void open(const Target& target, const TuneSettings& settings, EventLoop& loop) {
    if (settings.isolation == Isolation::in_process) {
      add(std::make_unique<InProcessBenchService>(
          loop, [name = target.backend.name](int index) { return make_backend(name)->open_device(index); }));
      return;
    }
    for (std::size_t i = 0; i <= target.further.size(); ++i)
      add(std::make_unique<WorkerBenchService>(
          loop, bench_worker_command(false),
          i == 0 ? WorkerBenchService::Role::first : WorkerBenchService::Role::further));
  }
  void check_with(const OutputCheck& check, const std::filesystem::path& scratch) {
    if (!check.holds) return;
    for (std::size_t i = 0; i < used.size(); ++i) {
      owned.push_back(
          std::make_unique<CheckedBenchService>(*used[i], check, scratch / ("outputs-" + std::to_string(i))));
      used[i] = owned.back().get();
    }
  }
};

/// One call of the library: a target, and runs on it.
class Call {
 public:
  Call(const Tunable& tunable, const TuneSettings& settings)
      : tunable_(tunable), settings_(settings), target_(prepared()), base_(spec_of(tunable, target_.backend.name)) {
    apply(settings_, base_);
  }
  const Spec& spec() const { return base_; }

  Result tune(const Bindings& problem) {
    try {
      return run(problem);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::interrupted) throw;
      return stopped(problem);
    }
  }

  /// A run that was stopped before it measured anything.
  Result stopped(const Bindings& problem) const {
    TuneResult nothing;
    nothing.problem = problem;
    nothing.device = target_.device;
    nothing.interrupted = true;
    return result_of(base_, nothing, target_, "");
  }

 private:
  Target prepared() {
    check(settings_);
    find_worker_program();
    remove_abandoned_temporaries();
    return target_of(settings_);
  }

  std::vector<Bindings> listed_configs(const Spec& spec, const Bindings& problem, TuneObserver& listener) const {
    const std::vector<Bindings> given = settings_.configs_of ? settings_.configs_of(problem) : settings_.configs;
    if (given.empty()) return {};
    const Space space = make_space(spec, problem, device_facts(target_.device));
    std::vector<Bindings> chosen =
        choose_configs(space, given, [&](const std::string& text) { listener.on_warning(text); });
    if (chosen.empty())
      throw Error(ErrorKind::nothing_valid, "none of the configurations given is valid in the space of the spec");
    return chosen;
  }

  Result run(const Bindings& problem) {
    const std::string attempt = new_attempt();
    Spec spec = base_;
    Listener listener(settings_, spec, attempt);
    // From here on the thread's context is ours where the kernels run in this process.
    std::optional<CurrentContext> context;
    if (settings_.isolation == Isolation::in_process) context.emplace(target_.backend.name);
    StoppableLoop stoppable(settings_.stop);
    const auto poll = [&] {
      if (stoppable.stop()) throw Error(ErrorKind::interrupted, "stopped before anything was measured");
    };
    const TemporaryDirectory scratch, temporaries;
    apply_predicates(tunable_, spec, problem, device_facts(target_.device), poll);
    const bool copies = settings_.isolation == Isolation::process;
    const OutputCheck check = prepare_attachments(tunable_, spec, problem, target_, scratch.path(),
                                                  copies ? CopyLimit{settings_.max_copy_bytes} : CopyLimit{});
    poll();
    TuneOptions options;
    options.store = !settings_.keep           ? scratch.path() / "store"
                    : settings_.store.empty() ? default_store()
                                              : std::filesystem::absolute(settings_.store);
    options.scratch = scratch.path();
    options.attempt = attempt;
    options.fresh = settings_.fresh;
    options.retry_failed = settings_.retry_failed;
    options.transfer = settings_.transfer;
    options.check_on_device = target_.device.vendor != "cpu";
    options.only = listed_configs(spec, problem, listener);
    const std::size_t jobs = settings_.jobs > 0 ? settings_.jobs : default_jobs();
    PooledCompileService compiler(stoppable.loop(), jobs, compile_worker_command(jobs, temporaries.path()));
    Benches benches;
    benches.open(target_, settings_, stoppable.loop());
    benches.check_with(check, scratch.path());
    const TuneResult tuned = xtune::tune(spec, problem, target_, options, stoppable.loop(), compiler, benches.used,
                                         system_clock(), listener, stoppable.stop());
    Result result = result_of(spec, tuned, target_, attempt);
    result.binary = winning_kernel(spec, result, target_, options.store);
    result.warnings = std::move(listener.warnings);
    return result;
  }

  const Tunable& tunable_;
  const TuneSettings& settings_;
  Target target_;
  Spec base_;
};

/// What a run that never began returns.
Result never_begun(const Tunable& tunable, const Bindings& problem) {
  Result result;
  result.kernel = tunable.name();
  result.problem = problem;
  result.interrupted = true;
  return result;
}

}  // namespace

Result tune(const Tunable& tunable, const TuneSettings& settings) try {
  const RunTurn turn(settings.stop);
  Call call(tunable, settings);
  return call.tune(choose_problem(call.spec(), settings.problem));
} catch (const Error& error) {
  if (error.kind() != ErrorKind::interrupted) throw;
  return never_begun(tunable, settings.problem);
}

std::vector<Result> tune_cases(const Tunable& tunable, const TuneSettings& settings) try {
  const RunTurn turn(settings.stop);
  Call call(tunable, settings);
  std::vector<Result> results;
  for (const Bindings& problem : choose_problems(call.spec(), settings.problem)) {
    if (settings.stop.stop_requested()) break;
    results.push_back(call.tune(problem));
  }
  return results;
} catch (const Error& error) {
  if (error.kind() != ErrorKind::interrupted) throw;
  return {};
}

}  // namespace xtune
