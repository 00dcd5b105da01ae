// xtune select: the smallest set of configurations that serves all cases of a spec nearly as well as each case's own
// best.

#include <cmath>
#include <map>
#include <set>
#include <string_view>
#include <unordered_map>

#include "cli/cases.hpp"
#include "core/space/value.hpp"
#include "core/store/cover.hpp"
#include "core/store/layout.hpp"
#include "report/text/run_report.hpp"

namespace xtune::cli {
namespace {

struct CoverOptions {
  CommonOptions common;
  std::string path;
  std::size_t most = 8;
  std::string within = "5%";
  bool stored = false;
};

/// The measured configurations of each case, and their times relative to the case's best.
struct Matrix {
  std::vector<Bindings> problems, without;       ///< with and without measurements
  std::vector<const store::StoredConfig*> rows;  ///< the configurations: maybe millions
  std::vector<std::vector<double>> ratios;
  Bindings config(std::size_t number) const { return store::config_bindings(*rows[number]); }
  /// Problems that were measured only with another driver than the device has now, with that device.
  std::vector<std::pair<Bindings, device::DeviceInfo>> stale;
};

/// Goals that are maximised have negative scores.
double ratio_of(double score, double best) {
  if (score == best) return 1;
  const double ratio = score < 0 && best < 0 ? best / score : score / best;
  return std::isfinite(ratio) && ratio > 0 ? std::max(ratio, 1.0) : std::numeric_limits<double>::infinity();
}

/// The configurations of a problem that may be used.
struct Scores {
  std::vector<std::pair<const store::StoredConfig*, double>> best_first;  ///< with the value that ranks them
  std::optional<device::DeviceInfo> stale;                                ///< as in Matrix
};

/// Removes measurements with another driver than the device has now, unless nothing would remain; else returns the
/// device that they were measured on.
std::optional<device::DeviceInfo> keep_current(store::ConfigOrder& own, const device::DeviceInfo& now) {
  const auto is_current = [&](const auto* row) { return store::same_driver(row->device(), now); };
  if (own.empty()) return std::nullopt;
  if (std::none_of(own.begin(), own.end(), is_current)) return own.front()->device();
  std::erase_if(own, [&](const auto* row) { return !is_current(row); });
  return std::nullopt;
}

Scores scores_of(const Bindings& problem, const run::StoredAnswers& stored, const run::Target& target,
                 const store::SpecFit& fit) {
  const store::Criterion criterion = stored.criterion(problem);
  store::ConfigOrder own =
      stored.view().members(problem, target.device, [&](const store::Record& record) { return fit.obstacle(record); });
  Scores scores;
  scores.stale = keep_current(own, target.device);
  const auto factors = store::scale_factors(own, criterion);
  for (const store::StoredConfig* row : store::rank_configs(own, criterion)) {
    const double time_ms = row->time_ms * factors.at(row);
    scores.best_first.emplace_back(row, criterion.score ? criterion.at(store::read_record(*row), time_ms) : time_ms);
  }
  return scores;
}

Matrix matrix_of(const spec::Spec& spec, const std::vector<Bindings>& problems, const run::StoredAnswers& stored,
                 const run::Target& target, const std::filesystem::path& store) {
  Matrix matrix;
  // By their values: rows with other parameters than the spec's are not among the scores.
  std::unordered_map<std::string_view, std::size_t> numbers;
  std::vector<std::vector<std::pair<std::size_t, double>>> found;
  for (const Bindings& problem : problems) {
    const Scores scores = scores_of(problem, stored, target, fit_of(spec, problem, target, store));
    std::vector<std::pair<std::size_t, double>> row;
    for (const auto& [config, score] : scores.best_first) {
      const auto [number, is_new] = numbers.try_emplace(config->values(), matrix.rows.size());
      if (is_new) matrix.rows.push_back(config);
      row.emplace_back(number->second, ratio_of(score, scores.best_first.front().second));
    }
    if (scores.stale) matrix.stale.emplace_back(problem, *scores.stale);
    (row.empty() ? matrix.without : matrix.problems).push_back(problem);
    if (!row.empty()) found.push_back(std::move(row));
  }
  for (auto& row : found) {
    std::vector<double>& ratios =
        matrix.ratios.emplace_back(matrix.rows.size(), std::numeric_limits<double>::infinity());
    // If a configuration was measured under several keys, the best measurement counts.
    for (const auto& [number, ratio] : row) ratios[number] = std::min(ratios[number], ratio);
    row = {};
  }
  return matrix;
}

std::vector<Bindings> problems_of(const spec::Spec& spec, const run::StoredAnswers& answers, bool stored) {
  if (!stored) return spec.cases;
  std::set<Bindings> problems;
  const auto add = [&](const Bindings& problem) {
    if (std::equal(problem.begin(), problem.end(), spec.cases.front().begin(), spec.cases.front().end(),
                   [](const auto& a, const auto& b) { return a.first == b.first; }))
      problems.insert(problem);
  };
  // Kernels built with sanitizers answer nothing.
  std::set<std::size_t> answered;
  for (const store::RowBlock& block : answers.view().row_set().blocks)
    if (!block.sanitized) answered.insert(block.problem);
  for (const std::size_t problem : answered) add(answers.view().row_set().problems[problem].sizes);
  return {problems.begin(), problems.end()};
}

Json cover_json(const spec::Spec& spec, const Matrix& matrix, const store::Cover& cover, double limit,
                const device::DeviceInfo& now) {
  Json json{{"kernel", spec.kernel.name},
            {"within", limit - 1},
            {"method", cover.smallest ? "exact" : "greedy"},
            {"served", cover.within},
            {"cases", matrix.problems.size() + matrix.without.size()}};
  json["configs"] = Json::array();
  for (const std::size_t config : cover.configs) {
    Json serves = Json::array();
    for (std::size_t i = 0; i < matrix.problems.size(); ++i)
      if (cover.served_by[i] == config)
        serves.push_back({{"problem", report::bindings_json(matrix.problems[i])},
                          {"ratio", cover.ratio[i]},
                          {"within", cover.ratio[i] <= limit}});
    json["configs"].push_back(
        {{"config", report::bindings_json(matrix.config(config))}, {"serves", std::move(serves)}});
  }
  json["stale"] = Json::array();
  for (const auto& [problem, device] : matrix.stale)
    json["stale"].push_back(
        {{"problem", report::bindings_json(problem)}, {"driver", {{"measured", device.driver}, {"now", now.driver}}}});
  json["not_measured"] = Json::array();
  for (const Bindings& problem : matrix.without) json["not_measured"].push_back(report::bindings_json(problem));
  return json;
}

std::string percent(double ratio) {
  return std::isfinite(ratio) ? fmt::format("{:.1f} %", (ratio - 1) * 100) : "not measured";
}

void print_text(const spec::Spec& spec, const Matrix& matrix, const store::Cover& cover, double limit, std::size_t most,
                const device::DeviceInfo& now) {
  const std::size_t cases = matrix.problems.size();
  const char* how = cover.smallest          ? "exact: no smaller set does"
                    : cover.within == cases ? "greedy: a smaller set may do"
                                            : "greedy";
  if (cases == 0)
    print_out("the store has no measurements of these cases on this device\n");
  else
    print_out("{} for {} of {}, within {} of the best ({})\n", counted(cover.configs.size(), "configuration"),
              cover.within, counted(cases, "case"), percent(limit), how);
  for (const std::size_t config : cover.configs) {
    print_out("{}\n", report::config_text(spec, matrix.config(config)));
    for (std::size_t i = 0; i < cases; ++i)
      if (cover.served_by[i] == config)
        print_out("  {}: {} above its best{}\n",
                  matrix.problems[i].empty() ? "(no sizes)" : space::shown_text(matrix.problems[i]),
                  percent(cover.ratio[i]), cover.ratio[i] <= limit ? "" : ", beyond the limit");
  }
  for (std::size_t i = 0; i < cases; ++i)
    if (!cover.served_by[i]) print_out("{}: none of these was measured\n", space::shown_text(matrix.problems[i]));
  for (const auto& [problem, device] : matrix.stale)
    print_out("{}: stale: {}; `xtune run` measures again\n", space::shown_text(problem),
              store::driver_change(device, now));
  for (const Bindings& problem : matrix.without)
    print_out("{}: nothing measured; `xtune run` measures it\n", space::shown_text(problem));
  if (cover.too_many)
    print_out(
        "no {} serve all cases: --max-configs or --within must grow, or more configurations be measured on all "
        "cases\n",
        counted(most, "configuration"));
}

int print_cover(const CoverOptions& options) {
  const double limit = 1 + share_of("--within", options.within);
  // Before the device is opened, since that may create the directory of the default store.
  store::require_store(options.common.store_path());
  const run::Target target = target_for(options.path, options.common, worker::TargetNeed::device_or_named);
  const spec::Spec spec = load_spec_for(options.path, options.common, target);
  const run::StoredAnswers stored = stored_answers(spec, options.common, target);
  const Matrix matrix =
      matrix_of(spec, problems_of(spec, stored, options.stored), stored, target, options.common.store_path());
  const store::Cover cover = store::smallest_cover(matrix.ratios, limit, options.most);
  print_answer(
      options.common.format, [&] { return cover_json(spec, matrix, cover, limit, target.device); },
      [&] { print_text(spec, matrix, cover, limit, options.most, target.device); });
  return !matrix.problems.empty() && matrix.without.empty() && cover.within == matrix.problems.size() ? done
                                                                                                      : nothing_valid;
}

}  // namespace

void add_cover_command(CLI::App& app, Context& context) {
  const auto [command, options] =
      add_command<CoverOptions>(app, context, "select", "Pick the fewest configurations that serve all cases well",
                                "xtune select configs/gemm.toml --max-configs 8 --within 5%", print_cover);
  command.alias("cover");  // its earlier name
  add_spec_argument(command, options.path);
  const OptionGroup search(command, option_group::search), problem(command, option_group::problem);
  search.number("--max-configs", options.most, 1, "Pick at most N configurations");
  search.value("--within", options.within, "SHARE", "Accept this much more time than the best of a case: 5% or 0.05");
  problem.flag("--stored", options.stored, "Serve all problems of the store, instead of the spec's cases");
  add_common_options(command, options.common);
  add_store_option(command, options.common.store);
}

}  // namespace xtune::cli
