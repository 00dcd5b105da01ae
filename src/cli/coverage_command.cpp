// xtune coverage: the problems of an application's run, by how well the store answered them.

#include <map>

#include "base/text.hpp"
#include "cli/cases.hpp"
#include "cli/store_commands.hpp"
#include "core/space/value.hpp"
#include "core/store/store_view.hpp"
#include "dispatch/coverage.hpp"
#include "report/text/run_report.hpp"

namespace xtune::cli {
namespace {

using dispatch::CoveredProblem;

struct CoverageFlags : CommonOptions {
  std::vector<std::string> logs, specs, archs, kernels;
  std::string output;
  bool all = false;
};

/// How much slower the answers were than the best that the store has today.
class Losses {
 public:
  explicit Losses(std::filesystem::path store) : store_(std::move(store)) {}

  /// nullopt: the store has no measurement of the problem, or none of that configuration for it.
  std::optional<double> of(const CoveredProblem& problem) {
    auto& view = views_[{problem.arch, problem.kernel}];
    if (!view) {
      view = std::make_unique<store::StoreView>(store::StoreView::load(store_, problem.arch, problem.kernel));
      tell_warnings(view->warnings());
    }
    const store::RowSet& set = view->row_set();
    for (const store::StoreView::Group& group : view->groups()) {
      if (set.problems[group.problem].sizes != problem.problem || set.devices[group.device].name != problem.device)
        continue;
      const store::HeldRows members = view->read_members(group);
      const auto factors = store::scale_factors(members.rows);
      const auto time_ms = [&](const store::StoredConfig* row) { return row->time_ms * factors.at(row); };
      const store::ConfigOrder order = store::rank_configs(members.rows, {});
      for (const store::StoredConfig* row : order)
        if (store::config_bindings(*row) == problem.config)
          return std::max(time_ms(row) / time_ms(order.front()), 1.0) - 1;
    }
    return std::nullopt;
  }

 private:
  const std::filesystem::path store_;
  std::map<std::pair<std::string, std::string>, std::unique_ptr<store::StoreView>> views_;
};

std::string kind_of(const CoveredProblem& problem) {
  return problem.refusal.empty() ? to_string(problem.kind) : "refused";
}

bool is_near(const CoveredProblem& problem) { return !problem.measured_for.empty(); }

Json problem_json(const CoveredProblem& problem, const std::optional<double>& loss) {
  Json json{{"kernel", problem.kernel},
            {"arch", problem.arch},
            {"device", problem.device},
            {"problem", report::bindings_json(problem.problem)},
            {"calls", problem.calls},
            {"kind", kind_of(problem)},
            {"config", report::bindings_json(problem.config)},
            {"measured_for", nullptr},
            {"distance", nullptr},
            {"stale", problem.stale},
            {"loss", nullptr},
            {"spec", problem.spec.string()}};
  if (is_near(problem)) {
    json["measured_for"] = report::bindings_json(problem.measured_for);
    json["distance"] = problem.distance;
  }
  if (loss) json["loss"] = *loss;
  if (!problem.refusal.empty()) json["refusal"] = problem.refusal;
  return json;
}

void print_problems(const std::vector<CoveredProblem>& problems, const std::vector<std::optional<double>>& losses) {
  using enum report::FittedTable::Kind;
  report::FittedTable table{
      {{"kernel"}, {"calls"}, {"answer"}, {"distance"}, {"loss"}, {"problem", text}, {"device", text}}};
  for (std::size_t i = 0; i < problems.size(); ++i) {
    const CoveredProblem& problem = problems[i];
    table.rows.push_back({base::printable(problem.kernel, 60), std::to_string(problem.calls),
                          kind_of(problem) + (problem.stale ? ", stale" : ""),
                          is_near(problem) ? fmt::format("{:.2f}", problem.distance) : "-",
                          losses[i] ? fmt::format("{:.1f} %", *losses[i] * 100) : "-",
                          space::shown_text(problem.problem), base::printable(problem.device, 100)});
  }
  print_table(table);
}

std::map<std::string, std::size_t> counts_of(const std::vector<CoveredProblem>& problems) {
  std::map<std::string, std::size_t> counts;
  for (const CoveredProblem& problem : problems) ++counts[kind_of(problem)];
  return counts;
}

void print_counts(const std::vector<CoveredProblem>& problems) {
  std::map<std::string, std::size_t> counts = counts_of(problems);
  std::string text;
  for (const char* kind : {"refused", "default", "nearest", "bucket", "exact"})
    if (counts[kind] > 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", counts[kind], kind);
  print_out("{}: {}\n", counted(problems.size(), "problem"), text);
}

/// Specs by the names of their kernels.
std::map<std::string, std::filesystem::path> named_specs(const std::vector<std::string>& paths) {
  std::map<std::string, std::filesystem::path> specs;
  for (const std::string& path : paths) specs[read_spec(path, {}, "").kernel.name] = std::filesystem::absolute(path);
  return specs;
}

/// Returns the exit code.
int write_suite(const CoverageFlags& flags, std::vector<CoveredProblem> problems) {
  if (!flags.all)
    std::erase_if(problems, [](const CoveredProblem& one) { return one.kind == Choice::Kind::exact && !one.stale; });
  std::vector<std::string> warnings;
  const std::string suite = dispatch::coverage_suite(problems, named_specs(flags.specs), warnings);
  tell_warnings(warnings);
  if (suite.empty()) {
    tell("{} is not written: {}\n", flags.output,
         problems.empty() ? "no problem is left to tune" : "no spec of the problems is known; name them with --spec");
    return problems.empty() ? done : nothing_valid;
  }
  system::write_output_file(flags.output, suite);
  tell("{}: `xtune run {}` tunes these problems, worst first\n", flags.output, flags.output);
  return done;
}

int print_coverage(const CoverageFlags& flags) {
  std::vector<std::string> warnings;
  std::vector<CoveredProblem> problems = dispatch::read_coverage({flags.logs.begin(), flags.logs.end()}, warnings);
  tell_warnings(warnings);
  std::erase_if(problems, [&](const CoveredProblem& one) {
    return !is_chosen(flags.archs, one.arch) || !is_chosen(flags.kernels, one.kernel);
  });
  Losses store(flags.store_path());
  std::vector<std::optional<double>> losses;
  for (const CoveredProblem& problem : problems) losses.push_back(store.of(problem));
  if (flags.json()) {
    Json json{{"problems", Json::array()}, {"counts", counts_of(problems)}};
    for (std::size_t i = 0; i < problems.size(); ++i) json["problems"].push_back(problem_json(problems[i], losses[i]));
    print_json(json);
  } else if (problems.empty()) {
    print_out("the log has no problems\n");
  } else {
    print_problems(problems, losses);
    print_counts(problems);
  }
  const int written = flags.output.empty() ? done : write_suite(flags, problems);
  return problems.empty() ? nothing_valid : written;
}

}  // namespace

void add_coverage_command(CLI::App& app, Context& context) {
  const auto [command, flags] = add_command<CoverageFlags>(
      app, context, "coverage", "List the problems of an application's run by how well they were answered",
      "XTUNE_COVERAGE=run.jsonl ./application\n  xtune coverage run.jsonl -o cases.toml\n  xtune run cases.toml",
      print_coverage);
  add_argument(command, "log", flags.logs, "LOG", "Logs of XTUNE_COVERAGE, or directories of logs");
  const OptionGroup output(command, option_group::output), problem(command, option_group::problem);
  output.value("-o,--output", flags.output, "FILE",
               "Write a suite of the problems without an exact answer, worst first");
  output.flag("--all", flags.all, "Write problems with an exact answer into the suite, too");
  output.list("--spec", flags.specs, "FILE", "Take this spec for the suite in place of the one that the log names")
      ->transform(spec_named);
  problem.list("--arch", flags.archs, "ARCH", "Take only problems on this architecture");
  problem.list("--kernel", flags.kernels, "NAME", "Take only problems of this kernel");
  add_format_option(command, flags.format);
  add_store_option(command, flags.store, "Compare with the measurements in this store");
}

}  // namespace xtune::cli
