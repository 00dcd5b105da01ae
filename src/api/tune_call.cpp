// A call's runs, one after the other; with [objective] across some of them twice.
#include "api/tune_call.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "api/application_memory.hpp"
#include "api/attachments.hpp"
#include "api/failures.hpp"
#include "api/in_process.hpp"
#include "api/listener.hpp"
#include "api/measurement.hpp"
#include "api/problem.hpp"
#include "api/program_finder.hpp"
#include "api/strategy_name.hpp"
#include "api/tunable_access.hpp"
#include "backends/backend.hpp"
#include "base/chosen_store.hpp"
#include "base/files.hpp"
#include "core/build/cache.hpp"
#include "core/record/objective.hpp"
#include "core/record/record_log.hpp"
#include "core/run/across.hpp"
#include "core/run/attempt.hpp"
#include "ipc/services.hpp"
#include "xtune/error.hpp"

namespace xtune {
namespace {

[[noreturn]] void refuse(const std::string& what) { throw Error(ErrorKind::invalid_argument, "settings: " + what); }

void check(const TuneSettings& settings) {
  if (settings.evals && *settings.evals == 0) refuse("evals is 0; at least one configuration must be tried");
  if (settings.seconds && !(*settings.seconds > 0 && *settings.seconds <= 1e9))
    refuse(fmt::format("seconds is {}; give a number above 0, and at most 1e9", *settings.seconds));
  check_jobs(settings.jobs);
  if (!settings.strategy.empty()) require_strategy("settings: strategy", settings.strategy);
  if (settings.isolation == Isolation::in_process && settings.devices.size() > 1)
    refuse("isolation = in_process measures on one device");
  if (!settings.configs.empty() && settings.configs_of) refuse("configs and configs_of exclude each other");
}

void apply(const TuneSettings& settings, spec::Spec& spec) {
  if (!settings.strategy.empty()) spec.search.strategy = settings.strategy;
  if (settings.evals) spec.search.evals = settings.evals;
  if (settings.seconds) spec.search.seconds = settings.seconds;
  if (settings.seed) spec.search.seed = *settings.seed;
}

target::Target target_of(const TuneSettings& settings) {
  check(settings);
  find_worker_program();
  base::remove_abandoned_temporaries();
  target::TargetOptions options;
  options.backend = settings.backend.empty() ? "auto" : settings.backend;
  options.devices = settings.devices;
  target::Target target = target::choose_target(options);
  if (settings.isolation == Isolation::in_process) {
    const auto current = settings.devices.empty() ? current_device(target.backend.name) : std::nullopt;
    if (current) target.device = target::choose_devices(target.backend, {*current}).front();
    target.further.clear();
  }
  return target;
}

/// The bench services of one run, and what stands in front of them.
struct Benches {
  std::vector<std::unique_ptr<ipc::BenchService>> owned;
  std::vector<ipc::BenchService*> used;

  void add(std::unique_ptr<ipc::BenchService> service) { used.push_back(owned.emplace_back(std::move(service)).get()); }
  void open(const target::Target& target, const TuneSettings& settings, base::EventLoop& loop,
            const std::filesystem::path& temporaries) {
    if (settings.isolation == Isolation::in_process) {
      add(std::make_unique<InProcessBenchService>(
          loop, [name = target.backend.name](int index) { return backend::make_backend(name)->open_device(index); }));
      return;
    }
    for (std::size_t i = 0; i <= target.further.size(); ++i)
      add(std::make_unique<ipc::WorkerBenchService>(
          loop, ipc::bench_worker_command(false, temporaries),
          i == 0 ? ipc::WorkerBenchService::Role::first : ipc::WorkerBenchService::Role::further));
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

}  // namespace

struct TuneCall::Case {
  Case(TuneCall& call, Bindings problem_)
      : problem(std::move(problem_)), spec(call.base_), listener(call.settings_, spec, call.attempts_) {}
  const Bindings problem;
  const base::TemporaryDirectory scratch;
  spec::Spec spec;
  OutputCheck check;
  Listener listener;
};

TuneCall::TuneCall(const Tunable& tunable, const TuneSettings& settings)
    : tunable_(tunable),
      settings_(settings),
      kept_in_(base::chosen_store(settings.store)),
      target_(target_of(settings)),
      base_(spec_of(tunable, target_.backend.name)),
      stoppable_(settings.stop) {
  apply(settings_, base_);
}

TuneCall::~TuneCall() = default;

std::vector<Result> TuneCall::tune(const std::vector<Bindings>& problems) {
  const bool across = base_.objective.across != spec::ObjectiveSpec::Across::each && problems.size() > 1;
  std::vector<std::unique_ptr<Case>> cases;
  std::vector<run::TuneResult> tuned;
  std::vector<Result> results;
  for (const Bindings& problem : problems) {
    if (stopped()) break;
    Case& one = *cases.emplace_back(std::make_unique<Case>(*this, problem));
    tuned.push_back(unless_stopped(one, [&] {
      prepare(one);
      return run(one, listed_configs(one));
    }));
    if (across) continue;
    results.push_back(result_of(one, tuned.back()));
    cases.clear();
  }
  return across ? tune_across(cases, tuned) : results;
}

dispatch::Tuned TuneCall::tune_for_calls(const Bindings& problem) {
  Case one(*this, problem);
  const run::TuneResult tuned = unless_stopped(one, [&] {
    prepare(one);
    return run(one, listed_configs(one));
  });
  dispatch::Tuned outcome;
  const record::Objective objective(one.spec);
  if (const auto best = record::best_of(tuned.all(), objective.criterion(tuned.problem, tuned.device))) {
    outcome.winner = *best->record;
    outcome.artifact = artifact_of(outcome.winner->artifact_key, store_of(one), one.scratch.path());
    outcome.not_kept = reason_not_kept(one, *outcome.winner);
    return outcome;
  }
  std::vector<Failed> failures;
  for (const record::Record& record : tuned.records) {
    if (record.outcome == Outcome::ok || record.outcome == Outcome::pruned) continue;
    outcome.failed.insert(record.config);
    failures.push_back({record.outcome, record.message});
  }
  outcome.failures = fmt::format("none of {} configurations passed: {}", failures.size(), failures_text(failures));
  return outcome;
}

std::string TuneCall::reason_not_kept(const Case& one, const record::Record& winner) const {
  if (!settings_.keep) return "TuneSettings::keep is false";
  if (one.listener.warnings().empty()) return {};
  const std::filesystem::path store = store_of(one);
  const std::vector<record::Record> stored =
      record::read_records(store, target_.device.arch, one.spec.kernel.name).records;
  const bool recorded = std::any_of(stored.begin(), stored.end(), [&](const record::Record& record) {
    return record.key == winner.key && record.attempt == winner.attempt;
  });
  if (recorded && build::ArtifactCache(store).find(winner.artifact_key)) return {};
  const std::vector<std::string> warnings = one.listener.warnings();
  // The last one: before it writes a run reads, and may have complained of that.
  const auto about = std::find_if(warnings.rbegin(), warnings.rend(), [&](const std::string& warning) {
    return warning.find((recorded ? store / "artifacts" : store / "records").string()) != std::string::npos;
  });
  return about == warnings.rend() ? warnings.back() : *about;
}

/// What is in force for all cases is only known once each has been tuned: their data stay until then.
std::vector<Result> TuneCall::tune_across(std::vector<std::unique_ptr<Case>>& cases,
                                          std::vector<run::TuneResult>& tuned) {
  if (!stopped())
    run::measure_across(
        record::Objective(base_), tuned,
        [&](std::size_t i, const std::vector<Bindings>& missing) {
          return unless_stopped(*cases[i], [&] { return run(*cases[i], missing); });
        },
        [this] { return stopped(); });
  std::optional<record::AcrossChoice> choice;
  std::vector<record::Record> stored;
  std::vector<run::RunCase> known;
  for (std::size_t i = 0; i < cases.size(); ++i) known.push_back({&cases[i]->spec, &tuned[i]});
  if (!stopped()) {
    if (settings_.keep && !settings_.fresh)
      stored = record::read_records(store_of(*cases.front()), target_.device.arch, base_.kernel.name).records;
    choice = run::choose_across(known, target_, stored);
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
    across.measurement = measurement_of(cases[i]->spec, *choice->records[i], attempts_);
  }
  return results;
}

run::TuneResult TuneCall::unless_stopped(const Case& one, const std::function<run::TuneResult()>& body) const {
  try {
    return body();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::interrupted || !stopped()) throw;
    run::TuneResult nothing;  // before anything was measured
    nothing.problem = one.problem;
    nothing.device = target_.device;
    nothing.interrupted = true;
    return nothing;
  }
}

void TuneCall::prepare(Case& one) {
  const auto poll = [this] {
    if (stopped()) throw Error(ErrorKind::interrupted, "stopped before anything was measured");
  };
  apply_predicates(tunable_, one.spec, one.problem, device::device_facts(target_.device), poll);
  const bool copies = settings_.isolation == Isolation::process;
  one.check = prepare_attachments(tunable_, one.spec, one.problem, target_, one.scratch.path(),
                                  copies ? CopyLimit{settings_.max_copy_bytes} : CopyLimit{});
  poll();
}

std::vector<Bindings> TuneCall::listed_configs(Case& one) {
  const std::vector<Bindings> given = settings_.configs_of ? settings_.configs_of(one.problem) : settings_.configs;
  if (given.empty()) return {};
  const space::Space space = spec::make_space(one.spec, one.problem, device::device_facts(target_.device));
  std::vector<Bindings> chosen =
      choose_configs(space, given, [&](const std::string& text) { one.listener.on_warning(text); });
  if (chosen.empty())
    throw Error(ErrorKind::nothing_valid, "none of the configurations given is valid in the space of the spec");
  return chosen;
}

std::filesystem::path TuneCall::store_of(const Case& one) const {
  if (!settings_.keep) return one.scratch.path() / "store";
  return kept_in_;
}

run::TuneResult TuneCall::run(Case& one, std::vector<Bindings> only) {
  // From here on the thread's context is ours where the kernels run in this process.
  std::optional<CurrentContext> context;
  if (settings_.isolation == Isolation::in_process) context.emplace(target_.backend.name);
  const base::TemporaryDirectory temporaries;
  run::TuneOptions options;
  options.store = store_of(one);
  options.scratch = one.scratch.path();
  options.attempt = *attempts_.insert(run::new_attempt()).first;
  options.fresh = settings_.fresh;
  options.retry_failed = settings_.retry_failed;
  options.transfer = settings_.transfer;
  options.only = std::move(only);
  base::EventLoop& loop = stoppable_.loop();
  const std::size_t jobs = settings_.jobs > 0 ? settings_.jobs : ipc::default_jobs();
  ipc::PooledCompileService compiler(loop, jobs, ipc::compile_worker_command(jobs, temporaries.path()));
  Benches benches;
  benches.open(target_, settings_, loop, temporaries.path());
  benches.check_with(one.check, one.scratch.path());
  return xtune::run::tune(one.spec, one.problem, target_, options, loop, compiler, benches.used, base::system_clock(),
                          one.listener, stoppable_.stop());
}

Result TuneCall::result_of(Case& one, const run::TuneResult& tuned) {
  Result result = xtune::result_of(one.spec, tuned, target_, attempts_);
  result.binary = winning_kernel(one.spec, result, target_, store_of(one), one.scratch.path());
  result.warnings = one.listener.warnings();
  return result;
}

}  // namespace xtune
