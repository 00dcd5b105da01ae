// Evaluates objectives over records.
#include "core/store/objective.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string>

#include "core/measure/statistics.hpp"
#include "core/space/expression.hpp"
#include "core/space/value.hpp"
#include "core/spec/template_text.hpp"
#include "xtune/error.hpp"

namespace xtune::store {

// Evaluates metric expressions over records.

Bindings measured_names(const Record& record, double time_ms) {
  Bindings names = device::device_facts(record.device);
  names.insert(record.problem.begin(), record.problem.end());
  names.insert(record.config.begin(), record.config.end());
  names["time_ms"] = time_ms;
  names["time_s"] = time_ms * 1e-3;
  for (const auto& [name, values] : record.reported)
    if (!values.empty()) names.emplace(name, measure::summarize(values).median);
  const build::ResourceUsage& usage = record.usage;
  if (record.telemetry.energy_j > 0) names.emplace("energy_j", record.telemetry.energy_j);
  if (record.repeatable) names.emplace("repeatable", std::int64_t{record.repeatable->same()});
  if (usage.registers) names.emplace("registers", std::int64_t{*usage.registers});
  if (usage.spilled_bytes) names.emplace("spilled_bytes", *usage.spilled_bytes);
  names.emplace("shared_bytes", shared_bytes(record).value_or(0));
  return names;
}

double number_of(const spec::Text& expression, const Bindings& names) {
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  try {
    const auto lookup = [&](std::string_view name) { return space::find_value(names, name); };
    return space::number_of(spec::evaluate(expression, lookup)).value_or(none);
  } catch (const Error&) {
    return none;
  }
}

std::vector<std::string> metric_names(const spec::Spec& spec) {
  std::vector<std::string> names = spec::reported_names(spec);
  for (const spec::Metric& metric : spec.metrics) names.push_back(metric.name);
  return names;
}

std::vector<std::pair<std::string, double>> metrics_of(const spec::Spec& spec, const Record& record) {
  Bindings names = measured_names(record, measure::statistic(record.time_ms, spec.measure.statistic));
  std::vector<std::pair<std::string, double>> metrics;
  for (const std::string& name : spec::reported_names(spec)) metrics.emplace_back(name, number_of({name, {}}, names));
  const std::vector<double> values = add_metrics(spec, names);
  for (std::size_t i = 0; i < values.size(); ++i) metrics.emplace_back(spec.metrics[i].name, values[i]);
  return metrics;
}

std::vector<double> add_metrics(const spec::Spec& spec, Bindings& names) {
  std::vector<double> values;
  // Stored records of an earlier state of the spec may have other parameters, which code does not expect.
  const bool is_whole = std::all_of(spec.parameters.begin(), spec.parameters.end(),
                                    [&](const space::Parameter& each) { return names.contains(each.name); });
  for (const spec::Metric& metric : spec.metrics) {
    if (!metric.code)
      values.push_back(number_of(metric.expression, names));
    else
      values.push_back(is_whole ? metric.code(names) : std::numeric_limits<double>::quiet_NaN());
    if (!std::isnan(values.back())) names.emplace(metric.name, values.back());
  }
  return values;
}

namespace {

/// Throws where ratios say nothing.
void require_ratios(const spec::ObjectiveSpec::Goal& goal, double value, const Record& record, const char* what) {
  if (!(value < 0)) return;
  throw Error(ErrorKind::invalid_spec,
              fmt::format("{}: {} is {:.4g} for {}; {} compares ratios, which need values of at least 0: name "
                          "an expression that is never negative",
                          spec::to_string(goal.expression.at), goal.expression.text, value,
                          space::shown_text(record.config), what));
}

/// For 0. An energy-delay product of a microsecond is 1e-12, and its logarithm must be finite.
constexpr double smallest_value = 1e-30;

double positive(double value, bool maximize) {
  const double magnitude = std::isnan(value) ? value : std::max(value, smallest_value);
  return maximize ? 1 / magnitude : magnitude;
}

/// The names that an expression uses; metrics are replaced by the names that they use.
std::set<std::string, std::less<>> names_in(const spec::Spec& spec, const spec::Text& expression) {
  std::set<std::string, std::less<>> names;
  const space::Expression parsed = spec::parse_expression(expression);
  for (const std::string& name : parsed.names()) {
    const auto metric = std::find_if(spec.metrics.begin(), spec.metrics.end(),
                                     [&, &wanted = name](const spec::Metric& one) { return one.name == wanted; });
    if (metric == spec.metrics.end())
      names.insert(name);
    else if (metric->code)
      names.insert({"time_ms", name});  // it may use the time, and anything else as well
    else
      names.merge(names_in(spec, metric->expression));
  }
  return names;
}

/// Of the metrics in code that an expression uses, so that finals by other code do not count: " (work 3f2a)".
std::string labels_in(const spec::Spec& spec, const spec::Text& expression) {
  std::string labels;
  const space::Expression parsed = spec::parse_expression(expression);
  for (const spec::Metric& metric : spec.metrics)
    if (metric.code && parsed.names().contains(metric.name)) labels += " (" + metric.name + " " + metric.label + ")";
  return labels;
}

}  // namespace

std::vector<std::string> Objective::names() const {
  std::vector<std::string> names;
  for (const spec::ObjectiveSpec::Goal& goal : spec_.objective.goals) names.push_back(goal.expression.text);
  if (names.empty()) names.push_back("time_ms");
  return names;
}

std::vector<double> Objective::values(const Record& record, double time_ms) const {
  const std::vector<spec::ObjectiveSpec::Goal>& goals = spec_.objective.goals;
  if (goals.empty()) return {time_ms};
  Bindings names = measured_names(record, time_ms);
  add_metrics(spec_, names);
  std::vector<double> values;
  for (const spec::ObjectiveSpec::Goal& goal : goals) values.push_back(number_of(goal.expression, names));
  return values;
}

std::vector<double> Objective::values(const Record& record) const {
  return values(record, measure::statistic(record.time_ms, spec_.measure.statistic));
}

bool Objective::follows_time(const Bindings& problem, const device::DeviceInfo& device) const {
  const std::vector<spec::ObjectiveSpec::Goal>& goals = spec_.objective.goals;
  if (goals.size() != 1) return goals.empty();
  Record record;
  record.problem = problem;
  record.device = device;
  const Bindings facts = device::device_facts(device);
  for (const std::string& name : names_in(spec_, goals.front().expression))
    if (name != "time_ms" && name != "time_s" && !problem.contains(name) && !facts.contains(name)) return false;
  double before = -HUGE_VAL;
  for (double time_ms = 1e-5; time_ms < 1e6; time_ms *= 1.25) {
    const double now = score(record, time_ms);
    if (!(now > before)) return false;
    before = now;
  }
  return true;
}

bool Objective::names_time() const {
  const std::vector<spec::ObjectiveSpec::Goal>& goals = spec_.objective.goals;
  return goals.empty() || std::any_of(goals.begin(), goals.end(), [&](const spec::ObjectiveSpec::Goal& goal) {
           const auto names = names_in(spec_, goal.expression);
           return names.contains("time_ms") || names.contains("time_s");
         });
}

double Objective::score(const Record& record, double time_ms) const {
  const std::vector<double> found = values(record, time_ms);
  const std::vector<spec::ObjectiveSpec::Goal>& goals = spec_.objective.goals;
  if (goals.size() < 2) return !goals.empty() && goals.front().maximize ? -found.front() : found.front();
  for (std::size_t i = 0; i < 2; ++i) require_ratios(goals[i], found[i], record, "a choice by two goals");
  return std::sqrt(positive(found[0], goals[0].maximize) * positive(found[1], goals[1].maximize));
}

Criterion Objective::criterion(const Bindings& problem, const device::DeviceInfo& device) const {
  Criterion criterion(spec_.measure.statistic);
  if (follows_time(problem, device)) return criterion;
  criterion.score = [own = *this](const Record& record, double time_ms) { return own.score(record, time_ms); };
  criterion.times = names_time();
  criterion.objective.clear();
  for (const spec::ObjectiveSpec::Goal& goal : spec_.objective.goals)
    criterion.objective += (criterion.objective.empty() ? "" : ", ") + std::string(goal.maximize ? "most " : "least ") +
                           goal.expression.text + labels_in(spec_, goal.expression);
  return criterion;
}

double Objective::search_score(const Record& record) const { return search_score(record, 1); }

double Objective::search_score(const Record& record, double factor) const {
  const std::vector<spec::ObjectiveSpec::Goal>& goals = spec_.objective.goals;
  const double time_ms = factor * measure::statistic(record.time_ms, spec_.measure.statistic);
  if (goals.size() == 1) return positive(values(record, time_ms).front(), goals.front().maximize);
  return score(record, time_ms);
}

std::vector<const Record*> Objective::pareto(const std::vector<const Record*>& records) const {
  const std::vector<spec::ObjectiveSpec::Goal>& goals = spec_.objective.goals;
  std::vector<std::pair<const Record*, std::vector<double>>> valued;
  for (const Record* record : records) {
    std::vector<double> found = values(*record);
    for (std::size_t i = 0; i < goals.size(); ++i)
      if (goals[i].maximize) found[i] = -found[i];
    if (std::all_of(found.begin(), found.end(), [](double value) { return std::isfinite(value); }))
      valued.emplace_back(record, std::move(found));
  }
  const auto beats = [](const std::vector<double>& a, const std::vector<double>& b) {
    bool better = false;
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (a[i] > b[i]) return false;
      better = better || a[i] < b[i];
    }
    return better;
  };
  std::vector<const Record*> front;
  for (const auto& [record, own] : valued)
    if (std::none_of(valued.begin(), valued.end(),
                     [&, &own_values = own](const auto& other) { return beats(other.second, own_values); }))
      front.push_back(record);
  return front;
}

// Chooses by the ratio to each case's best.

std::optional<AcrossChoice> choose_across(const Objective& objective, spec::ObjectiveSpec::Across across,
                                          const std::vector<CaseRecords>& cases) {
  std::map<std::string, AcrossChoice> choices;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const Standings standings(cases[i].records, objective.criterion(cases[i].problem, cases[i].device));
    if (objective.goals().size() == 1)
      for (const Record* record : standings.order())
        require_ratios(objective.goals().front(), objective.values(*record).front(), *record, "across");
    // The times of finals and of a search are not on one scale.
    const auto score = [&](const Record& record) { return objective.search_score(record, standings.factor(record)); };
    double least = HUGE_VAL;
    for (const Record* record : standings.order()) least = std::min(least, score(*record));
    for (const Record* record : standings.order()) {
      AcrossChoice& choice = choices[space::bindings_text(record->config)];
      if (choice.records.size() != i) continue;  // an earlier case has no result of it
      choice.config = record->config;
      choice.records.push_back(record);
      choice.ratios.push_back(score(*record) / least);
    }
  }
  std::optional<AcrossChoice> best;
  for (auto& [text, choice] : choices) {
    if (choice.records.size() != cases.size() || cases.empty()) continue;
    double sum = 0, worst = 1;
    for (const double ratio : choice.ratios) {
      sum += std::log(ratio);
      worst = std::max(worst, ratio);
    }
    choice.score =
        across == spec::ObjectiveSpec::Across::worst ? worst : std::exp(sum / static_cast<double>(cases.size()));
    if (!best || choice.score < best->score) best = choice;
  }
  return best;
}

std::vector<const Record*> answering(const std::vector<Record>& stored, const Bindings& problem,
                                     const device::DeviceInfo& device, const LookupRules& rules, KeyFit worst) {
  std::vector<const Record*> found;
  for (const Record& record : stored) {
    if (record.problem != problem || !same_device(record.device, device) || is_sanitized(record)) continue;
    if (rules.obstacle && !rules.obstacle(record).empty()) continue;
    if (worst != KeyFit::differs && rules.differences && key_fit(rules.differences(record)) > worst) continue;
    found.push_back(&record);
  }
  return found;
}

}  // namespace xtune::store
