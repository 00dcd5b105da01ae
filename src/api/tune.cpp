// A call's runs, one after the other; with [objective] across some of them twice.
#include "xtune/tune.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "api/attachments.hpp"
#include "api/checks.hpp"
#include "api/function_kernel.hpp"
#include "api/in_process.hpp"
#include "api/remote.hpp"
#include "api/results.hpp"
#include "api/run_turn.hpp"
#include "api/tunable_state.hpp"
#include "api/tune_call.hpp"
#include "api/workers.hpp"
#include "backends/backend.hpp"
#include "base/causes.hpp"
#include "core/build/cache.hpp"
#include "core/run/job.hpp"
#include "core/run/tuner.hpp"
#include "core/space/value.hpp"
#include "core/spec/spec.hpp"
#include "core/store/objective.hpp"
#include "core/store/record_log.hpp"
#include "dispatch/kernel_state.hpp"
#include "system/chosen_store.hpp"
#include "system/files.hpp"
#include "worker/ipc/pool.hpp"
#include "worker/ipc/services.hpp"
#include "worker/ipc/target.hpp"
#include "xtune/error.hpp"

namespace xtune {

namespace {

/// Passes the tuner's events on to the application, and keeps the warnings. All arguments must outlive it.
class Listener final : public run::TuneObserver {
 public:
  /// attempts: the ids of this call's runs, whose records did not come from the store.
  Listener(const TuneSettings& settings, const spec::Spec& spec, const std::set<std::string>& attempts)
      : settings_(settings), spec_(spec), attempts_(attempts) {}

  void on_record(const store::Record& record, const std::string& log, bool /*from_store*/) override {
    if (settings_.on_measurement) settings_.on_measurement(measurement_of(spec_, record, attempts_), log);
  }
  void on_progress(const run::Progress& progress) override {
    if (!settings_.on_progress) return;
    TuneProgress report{progress.done,      progress.total,   progress.from_store,
                        progress.compiling, progress.waiting, progress.elapsed_s};
    if (progress.best) report.best_ms = measure::statistic(progress.best->time_ms, spec_.measure.statistic);
    settings_.on_progress(report);
  }
  void on_note(const std::string& text) override {
    if (settings_.on_log) settings_.on_log(text);
  }
  /// Passes each cause on once; warnings() has the counts.
  void on_warning(const std::string& text) override {
    if (causes_.add(text) && settings_.on_log) settings_.on_log("warning: " + text);
  }
  std::vector<std::string> warnings() const {
    std::vector<std::string> texts;
    for (const base::Cause& cause : causes_.all()) texts.push_back(cause.text());
    return texts;
  }

 private:
  base::Causes causes_;
  const TuneSettings& settings_;
  const spec::Spec& spec_;
  const std::set<std::string>& attempts_;
};

[[noreturn]] void refuse(const std::string& what) { throw Error(ErrorKind::invalid_argument, "settings: " + what); }

void check(const TuneSettings& settings) {
  if (settings.evals && *settings.evals == 0) refuse("evals is 0; at least one configuration must be tried");
  if (settings.seconds && !(*settings.seconds > 0 && *settings.seconds <= 1e9))
    refuse(fmt::format("seconds is {}; give a number above 0, and at most 1e9", *settings.seconds));
  check_jobs(settings.jobs);
  if (!settings.strategy.empty()) require_strategy("settings: strategy", settings.strategy);
  if (const auto words = spec::effort_words();
      !settings.effort.empty() && std::ranges::find(words, settings.effort) == words.end())
    refuse("effort is '" + base::printable(settings.effort, 80) + "'; give none, quick or full");
  if (settings.isolation == Isolation::in_process && settings.devices.size() > 1)
    refuse("isolation = in_process measures on one device");
  if (settings.compare && settings.configs.empty() && !settings.configs_of) refuse("compare is without configs");
  if (!settings.configs.empty() && settings.configs_of) refuse("configs and configs_of exclude each other");
}

/// State that the runs of a call share. The store's path is made absolute now, since callbacks may change the working
/// directory.
run::TuningJob job_of(const TuneSettings& settings) {
  run::TuneOptions options;
  options.store = system::chosen_store(settings.store);
  options.fresh = settings.fresh;
  options.retry_failed = settings.retry_failed;
  options.transfer = settings.transfer;
  return {std::move(options), settings.keep ? system::Kept::all : system::Kept::nothing};
}

run::Target target_of(const Tunable& tunable, const TuneSettings& settings) {
  check(settings);
  if (settings.remote) return described_target(settings.remote->target());
  find_worker_program();
  system::remove_abandoned_temporaries();
  worker::TargetOptions options;
  options.backend = settings.backend.empty() ? "auto" : settings.backend;
  options.compiler = settings.compiler;
  options.devices = settings.devices;
  if (Access::state(tunable).function) {
    run::Target target = worker::choose_target(spec_of(tunable), options);
    target.further.clear();  // it runs in this process
    return target;
  }
  run::Target target = worker::choose_target(options);
  if (settings.isolation == Isolation::in_process) {
    const auto current = settings.devices.empty() ? current_device(target.backend.name) : std::nullopt;
    if (current) target.device = worker::choose_devices(target.backend, {*current}).front();
    target.further.clear();
  }
  return target;
}

/// Adds the check to each service.
std::vector<std::unique_ptr<run::BenchService>> check_with(const OutputCheck& check,
                                                           const std::filesystem::path& scratch,
                                                           std::vector<run::BenchService*>& benches) {
  std::vector<std::unique_ptr<run::BenchService>> checked;
  for (run::BenchService*& bench : benches) {
    checked.push_back(
        std::make_unique<CheckedBenchService>(*bench, check, scratch / ("outputs-" + std::to_string(checked.size()))));
    bench = checked.back().get();
  }
  return checked;
}

}  // namespace

struct TuneCall::Case {
  Case(TuneCall& call, Bindings problem_)
      : problem(std::move(problem_)), spec(call.base_), listener(call.settings_, spec, call.job_.attempts()) {}
  const Bindings problem;
  const system::TemporaryDirectory scratch;
  spec::Spec spec;
  OutputCheck check;
  Listener listener;
};

TuneCall::TuneCall(const Tunable& tunable, const TuneSettings& settings)
    : tunable_(tunable),
      settings_(settings),
      job_(job_of(settings)),
      target_(target_of(tunable, settings)),
      base_(spec_of(tunable, target_.backend.name)),
      stoppable_(settings.stop, settings_.poll) {
  if (base_.process && !Access::state(tunable).function)
    throw Error(ErrorKind::unsupported, base_.kernel.name +
                                            " is a whole program ([process]): `xtune run` tunes it, and "
                                            "`xtune best` prints its values");
  run::apply({settings.strategy, settings.effort, settings.evals, settings.seed, settings.seconds}, base_.search);
  if (settings_.on_log && !target_.no_gpu.empty()) settings_.on_log("note: " + target_.no_gpu + ": tuning on the CPU");
}

TuneCall::~TuneCall() = default;

run::TuneResult TuneCall::tune_one(Case& one) {
  return unless_stopped(one, [&] {
    prepare(one);
    std::vector<Bindings> listed = listed_configs(one);
    if (predicts() && listed.empty())
      return run::predict(one.spec, one.problem, target_, job_.next_run(one.spec, target_, one.scratch.path()),
                          settings_.poll);
    return run(one, std::move(listed));
  });
}

std::vector<Result> TuneCall::tune(const std::vector<Bindings>& problems) {
  const bool across = base_.objective.across != spec::ObjectiveSpec::Across::each && problems.size() > 1 && !predicts();
  std::vector<std::unique_ptr<Case>> cases;
  std::vector<run::TuneResult> tuned;
  std::vector<Result> results;
  for (const Bindings& problem : problems) {
    if (stopped()) break;
    Case& one = *cases.emplace_back(std::make_unique<Case>(*this, problem));
    tuned.push_back(tune_one(one));
    if (across) continue;
    results.push_back(result_of(one, tuned.back()));
    cases.clear();
  }
  return across ? tune_across(cases, tuned) : results;
}

dispatch::Tuned TuneCall::tune_for_calls(const Bindings& problem) {
  if (predicts()) refuse("effort is none, which measures nothing: use quick or full, or Policy::lookup");
  Case one(*this, problem);
  const run::TuneResult tuned = tune_one(one);
  dispatch::Tuned outcome;
  const store::Objective objective(one.spec);
  if (const auto best = store::best_of(tuned.all(), objective.criterion(tuned.problem, tuned.device))) {
    outcome.winner = *best->record;
    outcome.artifact =
        artifact_of(outcome.winner->artifact_key, job_.artifacts_of(one.scratch.path()), one.scratch.path());
    outcome.not_kept = reason_not_kept(one, *outcome.winner);
    return outcome;
  }
  std::vector<Failed> failures;
  for (const store::Record& record : tuned.records) {
    if (record.outcome == Outcome::ok || record.outcome == Outcome::pruned) continue;
    outcome.failed.insert(record.config);
    failures.push_back({record.outcome, record.message});
  }
  outcome.failures = fmt::format("none of {} configurations passed: {}", failures.size(), failures_text(failures));
  return outcome;
}

std::string TuneCall::reason_not_kept(const Case& one, const store::Record& winner) const {
  if (!settings_.keep) return "TuneSettings::keep is false";
  if (one.listener.warnings().empty()) return {};
  const std::filesystem::path store = job_.artifacts_of(one.scratch.path());
  const std::vector<store::Record> stored =
      store::read_records(store, target_.device.arch, one.spec.kernel.name).records;
  const bool recorded = std::any_of(stored.begin(), stored.end(), [&](const store::Record& record) {
    return record.key == winner.key && record.attempt == winner.attempt;
  });
  if (recorded && build::ArtifactCache(store).find(winner.artifact_key)) return {};
  const std::vector<std::string> warnings = one.listener.warnings();
  // The last one: before it writes, a run reads, and may have sent a warning about that.
  const auto about = std::find_if(warnings.rbegin(), warnings.rend(), [&](const std::string& warning) {
    return warning.find((recorded ? store / "artifacts" : store / "records").string()) != std::string::npos;
  });
  return about == warnings.rend() ? warnings.back() : *about;
}

/// The configuration for all cases is known only after each has been tuned: their data are kept until then.
std::vector<Result> TuneCall::tune_across(std::vector<std::unique_ptr<Case>>& cases,
                                          std::vector<run::TuneResult>& tuned) {
  if (!stopped())
    run::measure_across(
        store::Objective(base_), tuned,
        [&](std::size_t i, const std::vector<Bindings>& missing) {
          return unless_stopped(*cases[i], [&] { return run(*cases[i], missing); });
        },
        [this] { return stopped(); });
  std::optional<store::AcrossChoice> choice;
  store::RecordSet stored;
  std::vector<run::RunCase> known;
  for (std::size_t i = 0; i < cases.size(); ++i) known.push_back({&cases[i]->spec, &tuned[i]});
  if (!stopped()) {
    stored = job_.stored(base_, target_);
    choice = run::choose_across(known, target_, stored.records);
    if (!choice) cases.front()->listener.on_warning("no configuration passed in all cases: none serves them all");
  }
  std::vector<Result> results;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    results.push_back(result_of(*cases[i], tuned[i]));
    if (!choice) continue;
    Across& across = results.back().across.emplace();
    across.rule =
        base_.objective.across == spec::ObjectiveSpec::Across::worst ? AcrossRule::worst : AcrossRule::geomean;
    across.score = choice->score;
    across.ratio = choice->ratios[i];
    across.measurement = measurement_of(cases[i]->spec, *choice->records[i], job_.attempts());
  }
  return results;
}

run::TuneResult TuneCall::unless_stopped(const Case& one, const std::function<run::TuneResult()>& body) const {
  try {
    return body();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::interrupted || !stopped()) throw;
    run::TuneResult nothing;  // stopped before anything was measured
    nothing.problem = one.problem;
    nothing.device = target_.device;
    nothing.interrupted = true;
    return nothing;
  }
}

void TuneCall::prepare(Case& one) {
  const auto poll = [this] {
    if (settings_.poll) settings_.poll();
    if (stopped()) throw Error(ErrorKind::interrupted, "stopped before anything was measured");
  };
  apply_predicates(tunable_, one.spec, one.problem, device::device_facts(target_.device), poll);
  const bool copies = settings_.isolation == Isolation::process;
  one.check = prepare_attachments(tunable_, one.spec, one.problem, target_, one.scratch.path(),
                                  copies ? settings_.max_copy_bytes : ~std::uint64_t{0});
  poll();
}

std::vector<Bindings> TuneCall::listed_configs(Case& one) {
  const std::vector<Bindings> given = settings_.configs_of ? settings_.configs_of(one.problem) : settings_.configs;
  if (given.empty() && settings_.configs_of)
    throw Error(ErrorKind::nothing_valid,
                fmt::format("configs_of returned no configuration for {}",
                            one.problem.empty() ? "the problem" : space::shown_text(one.problem)));
  if (given.empty()) return {};
  const space::Space space = spec::make_space(one.spec, one.problem, device::device_facts(target_.device));
  std::vector<Bindings> chosen =
      choose_configs(space, given, [&](const std::string& text) { one.listener.on_warning(text); });
  if (chosen.empty())
    throw Error(ErrorKind::nothing_valid, "none of the configurations given is valid in the space of the spec");
  return chosen;
}

run::TuneResult TuneCall::run(Case& one, std::vector<Bindings> only) {
  // If kernels run in this process, the thread's context is used by xtune from here on.
  const auto& function = Access::state(tunable_).function;
  std::optional<CurrentContext> context;
  if (settings_.isolation == Isolation::in_process && !function) context.emplace(target_.backend.name);
  run::TuneOptions options = job_.next_run(one.spec, target_, one.scratch.path());
  options.only = std::move(only);
  options.compare = settings_.compare;
  system::EventLoop& loop = stoppable_.loop();
  const std::size_t jobs = settings_.jobs > 0 ? settings_.jobs : worker::job_count();
  worker::JobWorkers workers(loop, jobs);
  std::optional<FunctionCompiler> preparing;
  std::optional<InProcessBenchService> in_process;
  if (function) {
    FunctionCompiler::Prepare prepare;
    if (const auto& own = Access::state(tunable_).prepare)
      prepare = [&](const Bindings& config) { own(one.problem, config); };
    options.alternate = static_cast<bool>(prepare);
    preparing.emplace(loop, jobs, one.spec.parameters, std::move(prepare));
    in_process.emplace(loop, [&](int) {
      return make_function_device(target_.device, one.spec.parameters,
                                  [&](const Bindings& config) { return function(one.problem, config); });
    });
  } else if (context)
    in_process.emplace(
        loop, [name = target_.backend.name](int index) { return backend::make_backend(name)->open_device(index); });
  else if (!settings_.remote)
    workers.add_benches(target_, false);
  run::CompileService& compiler = preparing ? static_cast<run::CompileService&>(*preparing) : workers.compiler();
  run::TuneServices services{
      loop, compiler, workers.benches(), system::system_clock(), stoppable_.stop(), settings_.remote.get()};
  if (in_process) services.benches.push_back(&*in_process);
  std::vector<std::unique_ptr<run::BenchService>> checked;
  if (one.check.holds) checked = check_with(one.check, one.scratch.path(), services.benches);
  return xtune::run::tune(one.spec, one.problem, target_, options, services, one.listener);
}

Result TuneCall::result_of(Case& one, const run::TuneResult& tuned) {
  Result result = xtune::result_of(one.spec, tuned, target_, job_.attempts());
  if (Access::state(tunable_).function)
    result.no_binary = "it is a function of the program";
  else
    result.binary =
        winning_kernel(one.spec, result, target_, job_.artifacts_of(one.scratch.path()), one.scratch.path());
  result.warnings = one.listener.warnings();
  return result;
}

DescribedTarget describe_target(const Tunable& tunable, const TuneSettings& settings) {
  return describe(target_of(tunable, settings));
}

namespace {

/// problems: of the call's spec. Empty if the stop token ended the call before its first run.
std::vector<Result> tune_problems(const Tunable& tunable, const TuneSettings& settings,
                                  const std::function<std::vector<Bindings>(const spec::Spec&)>& problems) try {
  std::optional<RunTurn> turn;
  if (!settings.remote) turn.emplace(settings.stop, settings.poll);
  TuneCall call(tunable, settings);
  return call.tune(problems(call.spec()));
} catch (const Error& error) {
  if (error.kind() != ErrorKind::interrupted || !settings.stop.stop_requested()) throw;
  return {};
}

}  // namespace

Result tune(const Tunable& tunable, const TuneSettings& settings) {
  std::vector<Result> results = tune_problems(tunable, settings, [&](const spec::Spec& spec) {
    return std::vector<Bindings>{choose_problem(spec, settings.problem)};
  });
  if (!results.empty()) return std::move(results.front());
  Result result;  // for a run that never began
  result.kernel_name = tunable.name();
  result.problem = settings.problem;
  result.interrupted = true;
  return result;
}

std::vector<Result> tune_cases(const Tunable& tunable, const TuneSettings& settings) {
  return tune_problems(tunable, settings,
                       [&](const spec::Spec& spec) { return choose_problems(spec, settings.problem); });
}

}  // namespace xtune
