// xtune audit: tunes repeatedly, and reports how often the answer changes and what each answer costs.
#include <unistd.h>

#include "base/text.hpp"
#include "cli/cases.hpp"
#include "cli/progress.hpp"
#include "core/run/audit.hpp"
#include "core/run/job.hpp"
#include "core/run/tuner.hpp"
#include "report/text/audit_report.hpp"
#include "report/text/run_report.hpp"
#include "system/clock.hpp"
#include "worker/ipc/pool.hpp"
#include "worker/ipc/services.hpp"

namespace xtune::cli {
namespace {

struct AuditOptions : SpecsOptions {
  std::uint64_t repeats = 10;
  run::SearchSettings search;
  std::string recording, max_flips, max_regret;
  bool same_seed = false;
};

/// What the measurements of an audit come from: a device, or a recording for each case.
struct AuditBench {
  using Work = std::function<bool(const run::Target&, const run::TuneServices&)>;
  spec::Spec spec;
  std::string device_name;
  std::function<bool(const Bindings& problem, const Work& work)> with;  ///< calls work for one case
};

AuditBench device_bench(const AuditOptions& options, SpecsWork& all) {
  const auto target =
      std::make_shared<const run::Target>(target_for(options.path, options.common, worker::TargetNeed::device));
  const auto workers = std::make_shared<worker::JobWorkers>(all.loop, worker::job_count(options.common.jobs),
                                                            worker::JobWorkers::Orphans::kill);
  workers->add_benches(*target, false);
  tell_no_gpu(*target, "tuning");
  spec::Spec spec = load_spec_for(options.path, options.common, *target);
  require_more_than_space(options.path, spec, "tune");
  return {std::move(spec), target->device.name, [=, &all](const Bindings&, const AuditBench::Work& work) {
            return work(*target, {all.loop, workers->compiler(), workers->benches(), system::awake_clock(), all.stop});
          }};
}

AuditBench replay_bench(const AuditOptions& options, SpecsWork& all) {
  const std::shared_ptr<Replay> replay = open_replay(options.path, options.common, options.recording);
  std::string device;
  for (const Bindings& problem : replay->spec.cases) {
    const std::string name = replay->open(all.loop, problem)->target.device.name;
    if (device.empty()) device = name;
  }
  return {replay->spec, device + ", replayed: all times are simulated",
          [=, &all](const Bindings& problem, const AuditBench::Work& work) {
            const std::unique_ptr<ReplayedCase> replayed = replay->open(all.loop, problem);
            return work(replayed->target, replayed->services(all.stop));
          }};
}

/// One spec.
class AuditRun {
 public:
  AuditRun(const AuditOptions& options, SpecsWork& work)
      : options_(options),
        stop_(work.stop),
        bench_((wants_replay(options.path, options.common, options.recording) ? replay_bench : device_bench)(options,
                                                                                                             work)) {
    run::apply(options.search, bench_.spec.search);
    audit_ =
        std::make_unique<run::Audit>(std::move(bench_.spec), run::Audit::Settings{folder_.path(), options.same_seed});
    observer_.emplace(audit_->spec(), "", ProgressPrinter::Verbosity::warnings, work.loop);
  }

  /// Returns the exit code.
  int go(Printer& printer) {
    announce();
    for (std::uint64_t repeat = 0; repeat < options_.repeats && tune_all(repeat); ++repeat) tell_rest(repeat);
    run::find_neighbours(audit_->spec(), audit_->cases());
    for (std::size_t i = 0; i < audit_->cases().size() && !stop_; ++i)
      bench_.with(audit_->spec().cases[i], [&](const run::Target& target, const run::TuneServices& services) {
        return audit_->compare(i, target, services, *observer_);
      });
    printer.add([this] { return json(); }, [this] { print_text(); });
    if (stop_) tell("xtune: interrupted; the report is of complete tunings, and has no regrets\n");
    return stop_ ? static_cast<int>(interrupted) : judge();
  }

 private:
  const spec::Spec& spec() const { return audit_->spec(); }

  void announce() const {
    if (options_.quiet) return;
    tell("{} on {}: {} tunings of {}, each from an empty store\n", spec().kernel.name, bench_.device_name,
         options_.repeats, counted(spec().cases.size(), "problem"));
    if (spec().search.seconds)
      tell("they take up to {}, and then the comparison of their winners\n",
           base::human_seconds(*spec().search.seconds * static_cast<double>(options_.repeats * spec().cases.size())));
  }

  bool tune_all(std::uint64_t repeat) {
    const std::int64_t start_ns = system::awake_clock().now_ns();
    for (std::size_t i = 0; i < spec().cases.size(); ++i) {
      const bool kept = bench_.with(spec().cases[i], [&](const run::Target& target, const run::TuneServices& services) {
        return audit_->tune(i, repeat, target, services, *observer_);
      });
      if (!kept) return false;
      if (!options_.quiet) tell_repeat(repeat, audit_->cases()[i]);
    }
    audit_->end_repeat();
    seconds_ += static_cast<double>(system::awake_clock().now_ns() - start_ns) * 1e-9;
    return true;
  }

  void tell_repeat(std::uint64_t number, const run::AuditedCase& one) const {
    const run::AuditedRepeat& repeat = one.repeats.back();
    tell("repeat {} of {}{}: {}\n", number + 1, options_.repeats,
         one.problem.empty() ? "" : ", " + space::shown_text(one.problem),
         repeat.winner
             ? fmt::format("{}, {}", report::config_text(spec(), *repeat.winner), base::human_time_ms(repeat.time_ms))
             : "no configuration passed");
  }

  void tell_rest(std::uint64_t repeat) const {
    const auto left = static_cast<double>(options_.repeats - repeat - 1);
    if (!options_.quiet && repeat == 0 && left > 0)
      tell("one repeat took {}; the others take about {}\n", base::human_seconds(seconds_),
           base::human_seconds(seconds_ * left));
  }

  Json json() const {
    Json json = report::audit_json(spec(), audit_->cases());
    json["interrupted"] = stop_.load();
    return json;
  }

  void print_text() const {
    for (const run::AuditedCase& one : audit_->cases())
      print_out("{}", report::audit_case_text(spec(), one, terminal_width(STDOUT_FILENO)));
    print_out("{}", report::audit_text(spec(), audit_->cases()));
  }

  int judge() const {
    const run::AuditFindings findings = run::findings_of(audit_->cases());
    if (findings.repeats == 0 || findings.without_winner == findings.repeats) return nothing_valid;
    int code = done;
    const auto fail = [&](const std::string& what, const std::string& option, const std::string& limit) {
      tell("{}: {}; {} {} allows less\n", spec().kernel.name, what, option, limit);
      code = regressed;
    };
    if (!options_.max_flips.empty() && findings.flip_share() > share_of("--max-flips", options_.max_flips))
      fail(fmt::format("{} of {} tunings flipped", findings.flips, findings.repeats), "--max-flips",
           options_.max_flips);
    if (!options_.max_regret.empty() && findings.winner && findings.winner->proven &&
        findings.winner->regret > share_of("--max-regret", options_.max_regret))
      fail("a winner's regret is " + report::regret_text(findings.winner->regret), "--max-regret", options_.max_regret);
    return code;
  }

  const AuditOptions& options_;
  const std::atomic<bool>& stop_;
  const system::TemporaryDirectory folder_;
  AuditBench bench_;
  std::unique_ptr<run::Audit> audit_;
  std::optional<ProgressPrinter> observer_;  ///< prints each warning once: every repeat has the same ones
  double seconds_ = 0;                       ///< of all complete repeats
};

void check_seeds(const AuditOptions& options) {
  const std::uint64_t further = options.same_seed ? 0 : options.repeats - 1;
  if (options.search.seed && *options.search.seed > max_whole_number - further)
    throw bad_argument(
        "--seed {}: the last of {} tunings would have a seed above {}; use a smaller one, or "
        "--same-seed",
        *options.search.seed, options.repeats, max_whole_number);
}

int audit(const AuditOptions& options) {
  for (const auto& [name, text] : {std::pair("--max-flips", options.max_flips), {"--max-regret", options.max_regret}})
    if (!text.empty()) share_of(name, text);
  check_seeds(options);
  return for_each_spec(options, [](const AuditOptions& one, SpecsWork& work, Printer& printer) {
    return AuditRun(one, work).go(printer);
  });
}

}  // namespace

void add_audit_command(CLI::App& app, Context& context) {
  const auto [command, options] = add_command<AuditOptions>(
      app, context, "audit", "Tune repeatedly: how often the winner changes, and what each winner costs",
      "xtune audit configs/gemm.toml --repeats 20 --evals 100 --max-flips 2% --max-regret 1%", audit);
  add_specs_argument(command, options.paths);
  const OptionGroup search(command, option_group::search);
  search.number("--repeats", options.repeats, 2, "Tune this many times", 10000);
  search.number("--evals", options.search.evals, 1, "Stop each tuning after this many configurations");
  search
      .value("--seconds", options.search.seconds, "S",
             "Stop each tuning after this much time; kernels are then compiled again in each of them")
      ->check(positive("seconds"));
  add_strategy_option(command, options.search.strategy);
  search.number("--seed", options.search.seed, 0,
                "Seed the first tuning; each further one has the next number as seed");
  search.flag("--same-seed", options.same_seed,
              "Give all tunings the same seed, so that only the noise of measurements differs");
  search.value("--max-flips", options.max_flips, "SHARE",
               "Exit with code 5 if a larger share of the tunings names another winner: 2% or 0.02");
  search.value("--max-regret", options.max_regret, "SHARE",
               "Exit with code 5 if a winner is slower than the best one by more than this share, and provably slower");
  add_recording_option(command, options.recording);
  add_jobs_option(command, options.common);
  add_common_options(command, options.common);
  add_quiet_option(command, options.quiet);
}

}  // namespace xtune::cli
