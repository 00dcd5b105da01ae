// The order of first answers, and a Gaussian process over the sizes that were measured.
#include "core/run/first_answer.hpp"

#include <fmt/core.h>

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "base/text.hpp"
#include "core/model/rank.hpp"
#include "core/run/search_path.hpp"
#include "core/run/tuner.hpp"
#include "core/search/opening.hpp"
#include "core/space/value.hpp"
#include "xtune/error.hpp"

namespace xtune::run {

const space::Space& Question::space() {
  if (!known_space) known_space = spec::make_space(spec, problem, device::device_facts(device));
  return *known_space;
}

Measured measured_of(const store::LookupResult& found) {
  if (!found.record) return {};
  const std::string of = found.distance == 0 ? "this problem" : space::shown_text(found.record->problem);
  return {found.match, found.distance, found.record->config, "the store's measurement of " + of};
}

FirstAnswer first_answer(Question& asked, const Measured& found,
                         const std::function<OthersAnswer(const space::Space&)>& others) {
  // Of eight products of gemm_hopper on an H200, the first of the model reached .92 of the tuned speed, the nearest
  // problem's configuration .69; with this factor each got the better one (docs/dispatch.md).
  constexpr double much_longer = 1.15;
  const spec::Spec& spec = asked.spec;
  const bool model_counts = spec.candidates && !spec.dispatch.default_config && std::isinf(spec.dispatch.radius) &&
                            spec.objective.goals.empty();
  const bool measured = found.match != store::Match::none;
  const bool between = found.match == store::Match::nearest && found.distance > 0;
  const FirstAnswer stored{found.config, found.origin};
  if (measured && !(between && model_counts)) return stored;
  const space::Space& space = asked.space();
  const auto answer = [&](std::uint64_t index, const std::string& origin) {
    return FirstAnswer{space.named(space.at(index)), origin};
  };
  if (!measured) {
    if (const OthersAnswer best = others ? others(space) : std::nullopt) return answer(best->first, best->second);
    if (const auto index = spec.dispatch.default_config ? space.index_of(*spec.dispatch.default_config) : std::nullopt)
      return answer(*index, "the spec's [dispatch] default");
  }
  const auto ranking = model::suggest(spec, space, asked.problem, asked.device, 1).ranking;
  if (!ranking) return measured ? stored : answer(0, "the first of the space");
  const model::RankedConfig& best = ranking->configs.front();
  FirstAnswer by_model = answer(best.index, "the " + spec.candidates->template_name + " model of the hardware");
  if (!measured) return by_model;
  const std::optional<std::uint64_t> index = space.index_of(found.config);
  if (!index || !best.estimate) return stored;
  const double expected_ms = model::estimator(spec, space, asked.problem, asked.device)(*index);
  if (expected_ms <= much_longer * best.cost) return stored;
  by_model.instead = fmt::format("{} expects {} of this configuration, and {} of its best", by_model.origin,
                                 base::human_time_ms(expected_ms), base::human_time_ms(best.cost));
  return by_model;
}

namespace {

constexpr std::size_t max_sizes = 16, max_rows = 64;  // the nearest sizes, and the best rows of each
constexpr double near_best = 1.5;                     // as a multiple of the best time: rows that count

// A GPU's first accesses to memory and the end of a launch, which the model leaves out: 2 us on an H200.
constexpr double start_ms = 2e-3;

/// What the rows of a size say: logarithms of their times, relative to what was expected.
struct KnownSize {
  const Bindings* problem = nullptr;
  double surplus = 0, variance = 0;  ///< the median, and how much rows of the size differ from it
};

/// The model's times for a problem, of configurations of a space that may be another one's; empty: no model knows the
/// device.
std::function<double(std::uint64_t)> model_of(const Question& asked, const space::Space& space,
                                              const Bindings& problem) try {
  const auto& candidates = asked.spec.candidates;
  if (!candidates || candidates->rank == "carver" || device::is_cpu(asked.device)) return {};
  return [estimate = model::estimator(asked.spec, space, problem, asked.device)](std::uint64_t index) {
    return estimate(index) + start_ms;
  };
} catch (const Error& error) {
  if (error.kind() == ErrorKind::invalid_spec) throw;
  return {};
}

/// All configurations, valid for this problem or not, if they can be numbered.
space::Space all_configs(Question& asked) try { return {asked.spec.parameters, {}, {}}; } catch (const Error&) {
  return asked.space();
}

/// The logarithm of a launch's work, by the first of [metrics] that is a rate, such as GFLOPS. nullopt: there is none,
/// or there are metrics in code.
std::optional<double> log_work(const Question& asked, const Bindings& problem, const Bindings& config) {
  for (const spec::Metric& metric : asked.spec.metrics)
    if (metric.code) return std::nullopt;
  store::Record record;
  record.problem = problem;
  record.device = asked.device;
  record.config = config;
  const auto metrics_at = [&](double time_ms) {
    record.time_ms = measure::summarize(std::span(&time_ms, 1));
    return store::metrics_of(asked.spec, record);
  };
  const auto of_one = metrics_at(1), of_two = metrics_at(2);
  for (std::size_t i = 0; i < of_one.size(); ++i)
    if (of_one[i].second > 0 && std::abs(of_one[i].second / of_two[i].second - 2) < 1e-9)
      return std::log(of_one[i].second);
  return std::nullopt;
}

/// The logarithms of the sizes of one problem over those of another, of those that differ.
std::vector<double> log_ratios(const Bindings& problem, const Bindings& to) {
  std::vector<double> logs;
  for (const auto& [name, value] : problem) {
    const Value& other = to.at(name);
    logs.push_back(value == other ? 0 : std::log(*space::number_of(value) / *space::number_of(other)));
  }
  return logs;
}

/// The logarithm of the work of a problem over that of the asked one.
double log_work_ratio(const Question& asked, const Bindings& problem, const Bindings& config) {
  const auto work = log_work(asked, problem, config), own = log_work(asked, asked.problem, config);
  if (work && own) return *work - *own;
  const std::vector<double> sizes = log_ratios(problem, asked.problem);
  return std::accumulate(sizes.begin(), sizes.end(), 0.0);
}

/// all: the configurations for the model; null: no model knows the device.
std::optional<KnownSize> known_size(const Question& asked, const store::ConfigOrder& rows, const space::Space* all) {
  const Bindings& problem = rows.front()->problem();
  const auto estimate = all ? model_of(asked, *all, problem) : nullptr;
  const double expected = all ? 0 : log_work_ratio(asked, problem, store::config_bindings(*rows.front()));
  const store::ConfigForm form(asked.spec.parameters);
  space::Config config(asked.spec.parameters.size());
  std::vector<double> logs;
  for (const store::Row row : rows) {
    if (logs.size() == max_rows || !(row->time_ms <= near_best * rows.front()->time_ms)) continue;
    const auto index =
        estimate && form.decode(row->names(), row->values(), config) ? all->index_of(config) : std::nullopt;
    const double expected_ms = !all ? 1 : index ? estimate(*index) : NAN;
    if (const double log = std::log(row->time_ms / expected_ms) - expected; std::isfinite(log)) logs.push_back(log);
  }
  if (logs.empty()) return std::nullopt;
  std::sort(logs.begin(), logs.end());
  KnownSize known{&problem, logs[logs.size() / 2], 0};
  for (const double log : logs)
    known.variance += (log - known.surplus) * (log - known.surplus) / static_cast<double>(logs.size());
  return known;
}

/// The nearest sizes on this kind of device.
std::vector<KnownSize> known_sizes(const Question& asked, std::span<const store::StoreView> views,
                                   const space::Space* all) {
  struct Found {
    double distance;
    const store::StoreView* view;
    const store::StoreView::Group* group;
    const Bindings* problem;
  };
  std::vector<Found> found;
  for (const store::StoreView& view : views)
    for (const store::StoreView::Group& group : view.groups()) {
      const Bindings& problem = view.row_set().problems[group.problem].sizes;
      if (!store::same_device(view.row_set().devices[group.device], asked.device)) continue;
      if (const auto distance = store::shape_distance(problem, asked.problem))
        found.push_back({*distance, &view, &group, &problem});
    }
  std::stable_sort(found.begin(), found.end(), [](const Found& a, const Found& b) { return a.distance < b.distance; });
  std::vector<KnownSize> sizes;
  std::set<Bindings> taken;
  for (const Found& one : found) {
    if (sizes.size() == max_sizes) break;
    const store::ConfigOrder& rows = one.view->order(*one.group);
    if (rows.empty() || !taken.insert(*one.problem).second) continue;
    if (const auto known = known_size(asked, rows, all)) sizes.push_back(*known);
  }
  return sizes;
}

// The surplus of a size is normal: a level that all sizes share, without a model a slope for each size, a part that
// near sizes share, and noise; all in units of a deviation that the records tell, beside a few earlier observations of
// `usual`. Chosen on 19 sizes of gemm_hopper on an H200 (docs/search.md).
struct SizeModel {
  double level, slope, local;
};
constexpr SizeModel with_model{1.65, 0, 1}, without_model{4, 2, 1.5};
constexpr double reach = 4, noise = 0.3, usual = 0.25, usual_weight = 3;

/// Half the length of an 80 % interval of Student's distribution, in deviations (Cornish-Fisher).
double interval_80(double freedom) {
  constexpr double z = 1.2816, z3 = z * z * z, z5 = z3 * z * z;
  return z + (z3 + z) / (4 * freedom) + (5 * z5 + 16 * z3 + 3 * z) / (96 * freedom * freedom);
}

/// Mean and half the interval of the asked problem's surplus.
std::pair<double, double> surplus_of(const Bindings& problem, const std::vector<KnownSize>& sizes,
                                     const SizeModel& model) {
  const auto n = static_cast<Eigen::Index>(sizes.size());
  std::vector<const Bindings*> problems;
  for (const KnownSize& size : sizes) problems.push_back(size.problem);
  problems.push_back(&problem);
  Eigen::MatrixXd covariance(n + 1, n + 1);
  for (Eigen::Index i = 0; i <= n; ++i)
    for (Eigen::Index k = 0; k <= n; ++k) {
      const Bindings &a = *problems[static_cast<std::size_t>(i)], &b = *problems[static_cast<std::size_t>(k)];
      const std::vector<double> x = log_ratios(a, problem), y = log_ratios(b, problem);
      const double product = std::inner_product(x.begin(), x.end(), y.begin(), 0.0);
      covariance(i, k) = model.level * model.level + model.slope * model.slope * product +
                         model.local * model.local * std::exp(-store::shape_distance(a, b).value_or(0) / reach) +
                         (i == k ? noise * noise : 0);
    }
  // Without a model the level is not known: it is that of the nearest size.
  const double base = model.slope > 0 ? sizes.front().surplus : 0;
  double mean = base, variance = covariance(n, n), squares = usual_weight * usual * usual, within = 0;
  if (n > 0) {
    Eigen::VectorXd surplus(n);
    for (Eigen::Index i = 0; i < n; ++i) {
      surplus[i] = sizes[static_cast<std::size_t>(i)].surplus - base;
      within += sizes[static_cast<std::size_t>(i)].variance / static_cast<double>(n);
    }
    const Eigen::VectorXd shared = covariance.col(n).head(n);
    const Eigen::MatrixXd inverse = covariance.topLeftCorner(n, n).llt().solve(Eigen::MatrixXd::Identity(n, n));
    const Eigen::VectorXd weights = inverse * surplus;
    mean += shared.dot(weights);
    variance -= shared.dot(inverse * shared);
    // Each size as the others predict it: the residual over its deviation, squared.
    squares += (weights.array().square() / inverse.diagonal().array()).sum();
  }
  const double freedom = usual_weight + static_cast<double>(n);
  return {mean, interval_80(freedom) * std::sqrt(variance * squares / freedom + within)};
}

}  // namespace

std::optional<ExpectedTime> expected_time(Question& asked, const Bindings& config,
                                          std::span<const store::StoreView> views) {
  if (!asked.spec.objective.goals.empty()) return std::nullopt;
  const auto estimate = model_of(asked, asked.space(), asked.problem);
  const auto index = asked.space().index_of(config);
  const double estimated_ms = estimate && index ? estimate(*index) : NAN;
  const bool by_model = estimated_ms > 0;
  const space::Space all = all_configs(asked);
  const std::vector<KnownSize> sizes = known_sizes(asked, views, by_model ? &all : nullptr);
  if (!by_model && sizes.empty()) return std::nullopt;
  const auto [surplus, half] = surplus_of(asked.problem, sizes, by_model ? with_model : without_model);
  const double time_ms = (by_model ? estimated_ms : 1) * std::exp(surplus);
  return ExpectedTime{time_ms, time_ms * std::exp(-half), time_ms * std::exp(half)};
}

store::RowOptions StoredAnswers::options_for(const spec::Spec& spec) {
  store::RowOptions options;
  options.statistic = spec.measure.statistic;
  options.all = true;
  return options;
}

store::Criterion StoredAnswers::criterion(const Bindings& problem) const {
  return store::Objective(spec_).criterion(problem, target_.device);
}

store::LookupResult StoredAnswers::look_up(const Bindings& problem, store::SpecFit& fit) const {
  store::LookupResult found = view_.look_up(problem, target_.device, fit.rules(), criterion(problem));
  for (const store::Record& failure : found.failed_elsewhere) found.reasons.push_back(store::failure_text(failure));
  return found;
}

TuneResult predict(const spec::Spec& spec, const Bindings& problem, const run::Target& target,
                   const TuneOptions& options, const std::function<void()>& poll) {
  Question asked{spec, problem, target.device,
                 spec::make_space(spec, problem, device::device_facts(target.device), poll)};
  const StoredAnswers stored(
      spec, target,
      store::StoreView::load(options.store, target.device.arch, spec.kernel.name, StoredAnswers::options_for(spec)));
  store::LookupResult found;
  if (target.device.backend != "replay") {
    store::SpecFit fit(spec, problem, target.device, target.arch, target.backend.toolchain, options.store);
    found = stored.look_up(problem, fit);
    if (!options.transfer && found.match != store::Match::exact) found = {};
  }
  const auto others = [&](const space::Space& space) -> OthersAnswer {
    if (!options.transfer || found.beyond) return std::nullopt;
    Knowledge knowledge;
    store::GrowingRecords here(options.store, target.device.arch, spec.kernel.name, spec.measure.statistic);
    here.refresh();
    add_sources(knowledge, spec, space, problem, target, here, options.store);
    const auto best = search::predicted_best(space, knowledge.sources);
    if (!best) return std::nullopt;
    const std::size_t more = knowledge.sources.size() - 1;
    return std::pair(*best, "records of " + knowledge.sources.front().name +
                                (more ? " and of " + base::counted(more, "other source") : ""));
  };
  FirstAnswer answer = first_answer(asked, measured_of(found), others);
  TuneResult result;
  result.problem = problem;
  result.device = target.device;
  result.space_size = asked.space().size();
  Prediction& prediction = result.prediction.emplace();
  if (found.match == store::Match::exact)
    prediction.time_ms = measure::statistic(found.record->time_ms, spec.measure.statistic);
  else if ((prediction.expected = expected_time(asked, answer.config, {&stored.view(), 1})))
    prediction.time_ms = prediction.expected->time_ms;
  prediction.config = std::move(answer.config);
  prediction.source = std::move(answer.origin);
  return result;
}

}  // namespace xtune::run
