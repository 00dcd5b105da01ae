// Evaluates objectives over records.
#include "core/record/objective.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "core/measure/statistics.hpp"
#include "core/record/metrics.hpp"
#include "core/space/expression.hpp"
#include "core/spec/template_text.hpp"

namespace xtune::record {
namespace {

double positive(double value, bool maximize) {
  const double magnitude = std::isnan(value) ? value : std::max(value, 1e-9);
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

double Objective::search_score(const Record& record) const {
  const std::vector<spec::ObjectiveSpec::Goal>& goals = spec_.objective.goals;
  const double time_ms = measure::statistic(record.time_ms, spec_.measure.statistic);
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

}  // namespace xtune::record
