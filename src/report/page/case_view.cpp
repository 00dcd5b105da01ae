// Ranks the records of a case, orders them by time, and selects those to draw.
#include "report/page/case_view.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <ranges>
#include <set>

#include "base/text.hpp"
#include "core/space/value.hpp"
#include "report/page/parts.hpp"
#include "report/text/run_report.hpp"

namespace xtune::report {

ReportCase make_report_case(std::shared_ptr<const spec::Spec> spec, Bindings problem, device::DeviceInfo device,
                            std::vector<store::Record> records, const std::optional<std::string>& answer) {
  ReportCase one;
  std::stable_sort(records.begin(), records.end(), store::is_earlier);
  const auto own = std::make_shared<std::vector<store::Record>>(std::move(records));
  std::vector<store::Record*> all;
  for (store::Record& record : *own) all.push_back(&record);
  const store::Criterion criterion = store::Objective(*spec).criterion(problem, device);
  auto standings = std::make_shared<store::Standings>(*own, criterion);
  const std::vector<const store::Record*>& order = standings->order();
  if (answer && !order.empty() && order.front()->key != *answer) {
    const auto at =
        std::find_if(order.begin(), order.end(), [&](const store::Record* record) { return record->key == *answer; });
    one.notes.push_back(counted(static_cast<std::size_t>(at - order.begin()), "configuration") +
                        " with a better rank may not answer: they failed since, or the driver, the reference or the "
                        "source has changed.");
    std::set<std::string> kept;
    for (auto left = at; left != order.end(); ++left) kept.insert((*left)->key);
    std::vector<const store::Record*> left;
    for (const store::Record& record : *own)
      if (kept.contains(record.key)) left.push_back(&record);
    standings = std::make_shared<store::Standings>(left, criterion);
  }
  store::put_on_one_scale(all, *standings);
  one.records = own;
  one.ranked = standings->order();
  if (!standings->empty()) one.best = store::Best{&standings->best(), standings->ties()};
  one.standings = std::move(standings);
  one.spec = std::move(spec);
  one.asked = problem;
  one.problem = std::move(problem);
  one.device = std::move(device);
  return one;
}

ReportCase report_case_of(std::shared_ptr<const spec::Spec> spec, const run::TuneResult& result) {
  std::vector<store::Record> records;
  for (const store::Record* record : result.all()) records.push_back(*record);
  ReportCase one = make_report_case(std::move(spec), result.problem, result.device, std::move(records));
  one.space_size = result.space_size;
  one.default_config = result.default_config;
  if (std::any_of(one.records->begin(), one.records->end(), store::is_sanitized))
    one.notes.emplace_back("Built with sanitizers: the times are not those of the kernel.");
  if (result.interrupted) one.notes.emplace_back("The run was interrupted before its search ended.");
  if (result.out_of_time) one.notes.emplace_back("The search ended because its time was up.");
  return one;
}

spec::Spec spec_of_records(const std::string& kernel, const std::vector<store::Record>& records) {
  spec::Spec spec;
  spec.kernel.name = kernel;
  const auto newest =
      std::max_element(records.begin(), records.end(),
                       [](const store::Record& a, const store::Record& b) { return a.unix_time_ms < b.unix_time_ms; });
  const auto less = [](const Value& a, const Value& b) { return a < b; };
  std::map<std::string, std::set<Value, decltype(less)>> values;
  if (newest != records.end())
    for (const auto& [name, value] : newest->config) values.try_emplace(name, less);
  for (const store::Record& record : records)
    for (const auto& [name, value] : record.config)
      if (const auto known = values.find(name); known != values.end()) known->second.insert(value);
  for (auto& [name, list] : values) spec.parameters.push_back({name, {list.begin(), list.end()}});
  return spec;
}

Merit::Merit(const ReportCase& shown) : spec_(shown.spec.get()) {
  const auto& goals = spec_->objective.goals;
  const store::Objective objective(*spec_);
  is_time_ = goals.empty() || (goals.size() == 1 && !goals[0].maximize && objective.names()[0] == "time_ms");
  std::vector<double> times;
  for (const store::Record* record : shown.ranked)
    times.push_back(measure::statistic(record->time_ms, spec_->measure.statistic));
  unit_ = plot::time_unit(times.empty() ? 1 : *std::min_element(times.begin(), times.end()));
  if (is_time_) {
    name_ = "time";
    axis_ = std::string("time, ") + unit_.name;
  } else if (goals.size() == 1) {
    maximize_ = goals[0].maximize;
    name_ = axis_ = objective.names()[0];
  } else {
    name_ = "score";
    axis_ = "score, geometric mean of the goals";
  }
}

double Merit::of(const store::Record& record) const {
  if (is_time_ && record.outcome == Outcome::pruned) return record.time_ms.min * unit_.per_ms;
  if (record.outcome != Outcome::ok || record.time_ms.count == 0) return NAN;
  if (is_time_) return measure::statistic(record.time_ms, spec_->measure.statistic) * unit_.per_ms;
  const store::Objective objective(*spec_);
  if (spec_->objective.goals.size() == 1) return objective.values(record)[0];
  return objective.search_score(record);
}

std::string Merit::text(double value) const {
  return is_time_ ? base::human_time_ms(value / unit_.per_ms) : plot::short_number(value, 4);
}

CaseView::CaseView(const ReportCase& case_, int number_, int heading_level, CaseLimits limits_)
    : shown(case_), number(number_), heading(heading_level), limits(limits_), merit(case_) {
  add_events();
  choose_drawn();
  find_varied();
  weigh();
  for (const auto& one : importance.parameters) order.push_back(one.parameter);
  for (std::size_t i = 0; i < varied.size(); ++i)
    if (std::find(order.begin(), order.end(), i) == order.end()) order.push_back(i);
}

void CaseView::add_events() {
  const std::vector<const store::Record*> records = store::RecordPointers(*shown.records);
  const ActiveTime active = ActiveTime::of(records);
  for (const store::Record* record : records) {
    if (record->drift) continue;
    events.push_back({record, active.seconds_until(static_cast<double>(record->unix_time_ms)), merit.of(*record),
                      !record->finals.empty(), false, static_cast<double>(events.size() + 1)});
  }
  std::set<Bindings> counted;
  for (const bool pruned : {false, true})
    for (CaseEvent& event : std::views::reverse(events))
      if (const Outcome outcome = event.record->outcome;
          (outcome == Outcome::pruned) == pruned && !(event.of_finals && outcome == Outcome::ok))
        event.counts = counted.insert(event.record->config).second;
}

void CaseView::choose_drawn() {
  std::vector<plot::PlotPoint> measured, others;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const auto at = static_cast<double>(i);
    const bool ok = events[i].record->outcome == Outcome::ok && std::isfinite(events[i].merit);
    // Those without a time are spread evenly: their height has no meaning.
    (ok ? measured : others).push_back({at, ok ? events[i].merit : 0, static_cast<long>(i)});
  }
  const std::size_t for_others =
      std::min(others.size(), std::max(limits.drawn / 3, limits.drawn - std::min(limits.drawn, measured.size())));
  std::vector<plot::PlotPoint> chosen = plot::thinned(measured, limits.drawn - for_others);
  const std::size_t every = for_others == 0 ? 1 : (others.size() + for_others - 1) / for_others;
  for (std::size_t i = 0; i < others.size(); i += every) chosen.push_back(others[i]);
  for (const plot::PlotPoint& point : chosen) drawn.push_back(static_cast<std::size_t>(point.row));
  std::sort(drawn.begin(), drawn.end());
  for (std::size_t row = 0; row < drawn.size(); ++row) events[drawn[row]].row = static_cast<long>(row);
}

void CaseView::find_varied() {
  for (const space::Parameter& parameter : shown.spec->parameters) {
    space::Parameter found{parameter.name, {}, parameter.compile_time};
    std::set<std::string> texts;
    for (const CaseEvent& event : events)
      if (const auto value = event.record->config.find(parameter.name); value != event.record->config.end())
        texts.insert(to_text(value->second));
    for (const Value& value : parameter.values)
      if (texts.contains(to_text(value))) found.values.push_back(value);
    if (found.values.size() > 1) varied.push_back(std::move(found));
  }
}

void CaseView::weigh() {
  if (varied.empty()) return;
  std::map<std::vector<std::uint32_t>, double> best;
  for (const store::Record* record : shown.ranked) {
    const double value = merit.of(*record);
    if (const auto row = levels_of(varied, record->config); row && value > 0) best.try_emplace(*row, value);
  }
  if (best.empty()) return;
  std::vector<std::vector<std::uint32_t>> rows;
  for (const auto& [row, value] : best) rows.push_back(row);
  const space::Space space = space::Space::listed(varied, rows);
  std::vector<search::MeasuredIndex> measured;
  for (const auto& [row, value] : best)
    if (const auto index = space.index_of(row)) measured.push_back({*index, value});
  importance = search::importance_of(space, measured);
}

std::optional<std::vector<std::uint32_t>> levels_of(std::span<const space::Parameter> parameters,
                                                    const Bindings& config) {
  std::vector<std::uint32_t> levels;
  for (const space::Parameter& parameter : parameters) {
    const auto value = config.find(parameter.name);
    if (value == config.end()) return std::nullopt;
    const auto found = std::find(parameter.values.begin(), parameter.values.end(), value->second);
    if (found == parameter.values.end()) return std::nullopt;
    levels.push_back(static_cast<std::uint32_t>(found - parameter.values.begin()));
  }
  return levels;
}

std::optional<std::size_t> CaseView::level(const store::Record& record, std::size_t parameter) const {
  const auto levels = levels_of({&varied[parameter], 1}, record.config);
  return levels ? std::optional<std::size_t>(levels->front()) : std::nullopt;
}

std::size_t CaseView::ok_events() const {
  return static_cast<std::size_t>(std::count_if(events.begin(), events.end(), [](const CaseEvent& event) {
    return event.record->outcome == Outcome::ok && event.counts;
  }));
}

}  // namespace xtune::report
