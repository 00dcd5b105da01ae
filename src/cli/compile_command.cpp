// xtune compile: compile a spec's configurations for architectures that may be absent.

#include "base/text.hpp"
#include "cli/cases.hpp"
#include "core/init/signature.hpp"
#include "core/run/compile_sweep.hpp"
#include "core/search/samples.hpp"
#include "report/text/run_report.hpp"
#include "system/chosen_store.hpp"
#include "worker/ipc/pool.hpp"
#include "worker/ipc/services.hpp"

namespace xtune::cli {
namespace {

struct CompileOptions : SpecsOptions {
  std::uint64_t limit = 400;
  bool sanitize = false, keep_going = false;
};

/// A configuration of one case for one architecture.
struct Row {
  std::string arch;
  Bindings problem;
  Bindings config;
  std::string config_text;  ///< in the spec's order
  run::SweptConfig swept;
};

/// The result for one of the named architectures.
struct ArchSummary {
  std::string arch;
  std::size_t compiled = 0, configurations = 0;
  std::optional<Error> error;  ///< nothing could be compiled for it
};

struct CompileReport {
  std::vector<Row> rows;
  std::vector<ArchSummary> archs;
  bool several_cases = false;
};

/// All cases of one spec, one architecture after the other.
class CompileRun {
 public:
  CompileRun(const CompileOptions& options, SpecsWork& work)
      : options_(options), loop_(work.loop), workers_(loop_, worker::job_count(options.common.jobs)), stop_(work.stop) {
    if (system::cache_disabled()) scratch_.emplace();
  }

  /// Throws Error if it cannot compile for this architecture; artifacts for others are kept.
  void compile_for(const run::Target& target, ArchSummary& summary) {
    const spec::Spec spec = load_spec_for(options_.path, options_.common, target);
    require_more_than_space(options_.path, spec, "compile");
    init::check_signatures(spec);
    report_.several_cases = spec.cases.size() > 1;
    for (const Bindings& problem : spec.cases) {
      if (stop_) return;
      compile_case(target, spec, problem, summary);
    }
  }

  CompileReport& report() { return report_; }

 private:
  void compile_case(const run::Target& target, const spec::Spec& spec, const Bindings& problem, ArchSummary& summary) {
    const space::Space space = space_of(spec, problem, target);
    const std::filesystem::path store = scratch_ ? scratch_->path() : options_.common.store_path();
    const resolve::CandidateResolver resolver = resolver_of(spec, space, problem, target, store, options_.sanitize);
    const auto artifact_of = [&](std::uint64_t index) {
      return resolver.artifact_key(resolver.compile_request(space.at(index)));
    };
    const std::vector<std::uint64_t> chosen = search::spread_sample(space, options_.limit, artifact_of);
    if (chosen.size() < space.size() && !options_.quiet)
      tell("{}: {} of {} configurations: a sample with each value of each parameter (--limit N changes its size)\n",
           target.arch, chosen.size(), space.size());
    run::CompileSweep sweep(spec, space, resolver, target.backend.name, store, loop_, workers_.compiler());
    std::vector<Row> rows;
    for (run::SweptConfig& swept : sweep.compile(
             chosen, [this] { return stop_.load(); }, options_.keep_going)) {
      if (!swept.done) continue;
      ++summary.configurations;
      if (swept.outcome == Outcome::ok) ++summary.compiled;
      const Bindings config = space.named(space.at(swept.index));
      rows.push_back({target.arch, problem, config, report::config_text(spec, config), std::move(swept)});
    }
    if (const std::string& failure = sweep.common_failure(); !failure.empty()) tell("{}: {}\n", target.arch, failure);
    if (!sweep.warning().empty()) tell("warning: {}: {}\n", target.arch, sweep.warning());
    for (const std::string& sentence : sweep.without_effect()) tell("{}: {}\n", target.arch, sentence);
    const auto failed =
        std::ranges::find(rows, Outcome::compile_failed, [](const Row& row) { return row.swept.outcome; });
    if (summary.compiled == 0 && failed != rows.end() && !std::exchange(asked_others_, true))
      if (const std::string others = run::other_compilers(spec, problem, target, failed->config, store, loop_,
                                                          workers_.compiler(), [this] { return stop_.load(); });
          !others.empty())
        tell("{}: {}: {}\n", target.arch, failed->config_text, others);
    std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.config_text < b.config_text; });
    std::move(rows.begin(), rows.end(), std::back_inserter(report_.rows));
  }

  const CompileOptions& options_;
  system::EventLoop& loop_;
  worker::JobWorkers workers_;
  const std::atomic<bool>& stop_;
  std::optional<system::TemporaryDirectory> scratch_;  ///< instead of the store, if nothing is to be kept
  CompileReport report_;
  bool asked_others_ = false;  ///< about a failure, once
};

template <class T>
std::string cell(const std::optional<T>& value) {
  return value ? std::to_string(*value) : "-";
}

void print_text(const CompileReport& report) {
  using enum report::FittedTable::Kind;
  report::FittedTable table{{{"arch"},
                             {"outcome"},
                             {"registers"},
                             {"spilled bytes"},
                             {"shared bytes"},
                             {"compile"},
                             {"configuration", text},
                             {"problem", context},
                             {"message", remark}}};
  for (const Row& row : report.rows) {
    const run::SweptConfig& swept = row.swept;
    table.rows.push_back({row.arch, to_string(swept.outcome), cell(swept.usage.registers),
                          cell(swept.usage.spilled_bytes), cell(run::shared_bytes(swept)),
                          swept.cached ? "cached" : fmt::format("{:.2f} s", swept.seconds), row.config_text,
                          space::shown_text(row.problem), base::first_line(swept.message)});
  }
  print_table(table);
  for (const ArchSummary& each : report.archs)
    if (each.error)
      print_out("{}: {}\n", each.arch, base::printable(base::first_line(each.error->what())));
    else
      print_out("{}: {} of {} compiled\n", each.arch, each.compiled, each.configurations);
}

Json row_json(const Row& row, bool several_cases) {
  const run::SweptConfig& swept = row.swept;
  Json json{{"arch", row.arch}};
  if (several_cases) json["problem"] = report::bindings_json(row.problem);
  json["config"] = report::bindings_json(row.config);
  json["key"] = swept.key;
  json["outcome"] = to_string(swept.outcome);
  json["registers"] = optional_json(swept.usage.registers);
  json["spilled_bytes"] = optional_json(swept.usage.spilled_bytes);
  json["shared_bytes"] = optional_json(run::shared_bytes(swept));
  json["seconds"] = swept.seconds;
  json["cached"] = swept.cached;
  if (!swept.message.empty()) json["message"] = swept.message;
  return json;
}

Json summary_json(const ArchSummary& summary) {
  Json json{{"arch", summary.arch}, {"compiled", summary.compiled}, {"configurations", summary.configurations}};
  if (summary.error) json["error"] = {{"kind", to_string(summary.error->kind())}, {"message", summary.error->what()}};
  return json;
}

/// The rows; with several architectures, or if one cannot be compiled for, a summary of each follows.
std::vector<Json> report_json(const CompileReport& report) {
  std::vector<Json> list;
  for (const Row& row : report.rows) list.push_back(row_json(row, report.several_cases));
  const bool any_error =
      std::any_of(report.archs.begin(), report.archs.end(), [](const auto& each) { return each.error.has_value(); });
  if (report.archs.size() > 1 || any_error)
    for (const ArchSummary& each : report.archs) list.push_back(summary_json(each));
  return list;
}

/// Whether an error concerns only one architecture. Anything else is wrong with the command line or the spec.
bool concerns_one_arch(const Error& error) {
  return error.kind() == ErrorKind::unsupported || error.kind() == ErrorKind::unavailable;
}

/// One target for each architecture of --arch, or the error for it. All are checked before the first compiles, since a
/// misspelt one should not cost minutes. Throws if there is only one.
std::vector<std::pair<ArchSummary, std::optional<run::Target>>> targets_of(const CompileOptions& options) {
  std::vector<std::string> archs = split_list(options.common.arch);
  if (archs.empty()) archs.emplace_back();
  std::vector<std::pair<ArchSummary, std::optional<run::Target>>> targets;
  for (const std::string& arch : archs) {
    worker::TargetOptions target_options = options.common.target_options(worker::TargetNeed::compiler);
    target_options.arch = arch;
    try {
      run::Target target = target_for(options.path, options.common, target_options);
      if (options.sanitize) require_sanitizable(target.device);
      targets.emplace_back(ArchSummary{target.arch, 0, 0, {}}, std::move(target));
    } catch (const Error& error) {
      if (archs.size() == 1 || !concerns_one_arch(error)) throw;
      tell("xtune: {}: {}\n", arch, error.what());
      targets.emplace_back(ArchSummary{arch, 0, 0, error}, std::nullopt);
    }
  }
  return targets;
}

int compile_one(const CompileOptions& options, SpecsWork& work, Printer& printer) {
  auto targets = targets_of(options);
  CompileRun run(options, work);
  int code = done;
  for (auto& [summary, target] : targets) {
    if (work.stop) break;
    try {
      if (target) run.compile_for(*target, summary);
    } catch (const Error& error) {
      if (!concerns_one_arch(error) || (error.kind() == ErrorKind::unavailable && targets.size() == 1)) throw;
      tell("xtune: {}: {}\n", summary.arch, error.what());
      summary.error = error;
    }
    code = worse_code(code, summary.error          ? exit_code_of(summary.error->kind())
                            : summary.compiled > 0 ? static_cast<int>(done)
                                                   : static_cast<int>(nothing_valid));
    run.report().archs.push_back(std::move(summary));
  }
  printer.add([&] { return report_json(run.report()); }, [&] { print_text(run.report()); });
  return code;
}

int compile(const CompileOptions& options) { return for_each_spec(options, compile_one, true); }

}  // namespace

void add_compile_command(CLI::App& app, Context& context) {
  const auto [command, options] = add_command<CompileOptions>(
      app, context, "compile", "Compile without a device; print registers and memory",
      "xtune compile configs/gemm.toml --backend cuda --arch sm_80,sm_90a --limit 50", compile);
  add_specs_argument(command, options.paths);
  OptionGroup(command, option_group::search)
      .number("--limit", options.limit, 1,
              "Compile at most N configurations for each architecture and case: of a larger space, a sample with each "
              "value of each parameter. Configurations that share a binary count once");
  add_keep_going_option(command, options.keep_going);
  add_problem_options(command, options.common);
  add_backend_option(command, options.common,
                     "Choose the backend; auto takes that of --arch, else that of a GPU that is here, else the first "
                     "with a compiler");
  add_compiler_option(command, options.common);
  add_arch_option(command, options.common,
                  "Compile for these architectures, separated by commas: sm_80,sm_90a or gfx90a,gfx1030");
  add_sanitize_option(command, options.sanitize);
  add_jobs_option(command, options.common);
  add_format_option(command, options.common.format);
  add_quiet_option(command, options.quiet, "notes");
  add_store_option(command, options.common.store);
}

}  // namespace xtune::cli
