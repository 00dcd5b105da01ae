// The outcome of each configuration, why the failed ones failed, and the table of all.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <ranges>

#include "base/text.hpp"
#include "core/store/objective.hpp"
#include "report/page/parts.hpp"
#include "report/text/run_report.hpp"

namespace xtune::report {

namespace {

/// In the order of the page, each with its meaning.
constexpr std::pair<Outcome, const char*> all_outcomes[] = {
    {Outcome::ok, "measured in full, right result"},      {Outcome::pruned, "dropped early: slower than the best"},
    {Outcome::rejected, "a device limit forbids it"},     {Outcome::wrong_result, "outputs differ from the reference"},
    {Outcome::compile_failed, "the compiler refused it"}, {Outcome::launch_failed, "the driver refused it"},
    {Outcome::timed_out, "exceeded its time limit"},      {Outcome::crashed, "the compiler or the kernel crashed"},
};
constexpr std::size_t most_messages = 24, longest_message = 400;

const char* style_of(Outcome outcome) {
  if (outcome == Outcome::ok) return "ok";
  return outcome == Outcome::pruned || outcome == Outcome::rejected ? "pruned" : "bad";
}

/// Messages that differ only in numbers are combined.
std::string form_of(std::string_view message) {
  std::string form;
  for (const char c : base::first_line(message)) {
    const bool digit = std::isdigit(static_cast<unsigned char>(c)) != 0;
    if (!digit)
      form += c;
    else if (form.empty() || form.back() != '#')
      form += '#';
  }
  return form;
}

struct MessageGroup {
  Outcome outcome = Outcome::ok;
  std::size_t count = 0;
  const store::Record* example = nullptr;
};

std::vector<MessageGroup> message_groups(const CaseView& view) {
  std::map<std::pair<Outcome, std::string>, MessageGroup> groups;
  for (const CaseEvent& event : view.events) {
    const store::Record& record = *event.record;
    if (!event.counts || record.outcome == Outcome::ok || record.outcome == Outcome::pruned) continue;
    MessageGroup& group = groups[{record.outcome, form_of(record.message)}];
    if (group.count++ == 0) group.outcome = record.outcome, group.example = &record;
  }
  std::vector<MessageGroup> list;
  for (const auto& [form, group] : groups) list.push_back(group);
  std::stable_sort(list.begin(), list.end(),
                   [](const MessageGroup& a, const MessageGroup& b) { return a.count > b.count; });
  return list;
}

std::string outcome_map(const CaseView& view, const std::map<Outcome, std::size_t>& counts) {
  std::vector<std::string> lanes;
  std::vector<Outcome> outcomes;
  for (const auto& [outcome, meaning] : std::views::reverse(all_outcomes))
    if (counts.contains(outcome)) lanes.emplace_back(to_string(outcome)), outcomes.push_back(outcome);
  plot::Canvas canvas(
      {"Outcome of each configuration in the order of the search", "The table gives the counts."},
      {plot::PlotScale(plot::ScaleKind::linear, 0, static_cast<double>(view.events.size()) + 0.5), "evaluations", 6},
      {plot::PlotScale::categories(lanes), "", 8}, {460, 50 + 26.0 * static_cast<double>(lanes.size())});
  for (std::size_t lane = 0; lane < outcomes.size(); ++lane)
    canvas.strokes(drawn_points(
                       view, [](const CaseEvent& event) { return event.number; },
                       [&](const CaseEvent&) { return static_cast<double>(lane); },
                       [&](const CaseEvent& event) { return event.counts && event.record->outcome == outcomes[lane]; }),
                   style_of(outcomes[lane]), view.limits.drawn);
  return figure(canvas, "Outcome of each configuration in the order of the search");
}

std::string message_table(const CaseView& view) {
  const std::vector<MessageGroup> groups = message_groups(view);
  if (groups.empty()) return "";
  using enum PageTable::Cells;
  PageTable content{
      "Why configurations failed, the most frequent reason first",
      {{"outcome"}, {"count", right}, {"message of an example", wrapped}, {"its configuration", wrapped}}};
  for (std::size_t i = 0; i < groups.size() && i < most_messages; ++i)
    content.rows.push_back({to_string(groups[i].outcome), std::to_string(groups[i].count),
                            base::printable_lines(groups[i].example->message, longest_message),
                            config_text(*view.shown.spec, groups[i].example->config)});
  std::string text = table(content);
  if (groups.size() > most_messages)
    text += paragraph(fmt::format("{} rarer messages are not shown.", groups.size() - most_messages), "note");
  return text;
}

}  // namespace

std::string outcomes_section(const CaseView& view) {
  if (view.events.empty()) return "";
  std::map<Outcome, std::size_t> counts;
  std::size_t sum = 0;
  for (const CaseEvent& event : view.events)
    if (event.counts) ++counts[event.record->outcome], ++sum;
  using enum PageTable::Cells;
  PageTable content{"Outcomes", {{"outcome"}, {"count", right}, {"share", right}, {"meaning", wrapped}}};
  for (const auto& [outcome, meaning] : all_outcomes)
    if (const auto found = counts.find(outcome); found != counts.end())
      content.rows.push_back(
          {to_string(outcome), std::to_string(found->second),
           fmt::format("{:.1f} %", 100.0 * static_cast<double>(found->second) / static_cast<double>(sum)), meaning});
  return heading(view.heading, "Outcomes") + figures(outcome_map(view, counts) + table(content)) + message_table(view);
}

namespace {

constexpr std::size_t longest_tip = 200;

PageTable configuration_table(const CaseView& view) {
  using enum PageTable::Cells;
  const spec::Spec& spec = *view.shown.spec;
  const std::vector<const store::Record*>& ranked = view.shown.ranked;
  const auto failed = [](const CaseEvent& event) {
    return event.counts && event.record->outcome != Outcome::ok && event.record->outcome != Outcome::pruned;
  };
  const auto failures = static_cast<std::size_t>(std::count_if(view.events.begin(), view.events.end(), failed));
  PageTable content{"Configurations, best first, then those that failed", {}};
  content.sortable = true;
  std::vector<MeasuredColumn> measured;
  if (!ranked.empty()) {
    measured = measured_columns(spec, ranked, *view.shown.standings);
    content.columns.push_back({"#", right});
    for (const MeasuredColumn& column : measured) content.columns.push_back({column.title, right});
    for (const std::string& name : store::metric_names(spec)) content.columns.push_back({name, right});
  }
  const std::size_t measured_count = content.columns.size();
  for (const space::Parameter& parameter : view.varied)
    content.columns.push_back(
        {parameter.name, std::holds_alternative<std::string>(parameter.values.front()) ? left : right});
  content.columns.push_back({"outcome"});
  if (failures > 0) content.columns.push_back({"message", wrapped});
  const auto add = [&](const std::string& rank, const store::Record& record) {
    std::vector<std::string>& row = content.rows.emplace_back();
    if (record.outcome == Outcome::ok) {
      row.push_back(rank);
      for (const MeasuredColumn& column : measured) row.push_back(column.cell(record));
      for (const auto& [name, value] : store::metrics_of(spec, record)) row.push_back(plot::short_number(value, 4));
    }
    row.resize(measured_count);
    for (const space::Parameter& parameter : view.varied) {
      const auto value = record.config.find(parameter.name);
      row.push_back(value == record.config.end() ? "" : space::shown_text(value->second));
    }
    row.emplace_back(to_string(record.outcome));
    if (failures > 0) row.push_back(base::printable_lines(base::first_line(record.message), longest_tip));
  };
  const std::size_t most = view.limits.listed, listed = std::min(ranked.size(), most - std::min(failures, most / 4));
  for (std::size_t i = 0; i < listed; ++i) add(std::to_string(i + 1), *ranked[i]);
  for (const CaseEvent& event : view.events)
    if (content.rows.size() < most && failed(event)) add("", *event.record);
  return content;
}

}  // namespace

std::string configurations_section(const CaseView& view) {
  if (view.events.empty()) return "";
  const PageTable content = configuration_table(view);
  if (content.rows.empty()) return "";
  std::string fixed;
  const store::Record& example = view.shown.best ? *view.shown.best->record : *view.events.front().record;
  for (const auto& [name, value] : example.config)
    if (std::none_of(view.varied.begin(), view.varied.end(), [&](const auto& one) { return one.name == name; }))
      fixed += (fixed.empty() ? "" : " ") + name + "=" + space::shown_text(value);
  std::string note = fmt::format("{} of {} records are listed; `xtune store export --format csv` writes all of them.",
                                 content.rows.size(), view.events.size());
  if (!fixed.empty()) note += " The same in all: " + fixed + ".";
  return heading(view.heading, "Configurations") + table(content) + paragraph(note, "note");
}

}  // namespace xtune::report
