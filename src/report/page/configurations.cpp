// The outcome of each configuration, why the failed ones failed, and the table of all.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "core/record/objective.hpp"
#include "report/page/parts.hpp"
#include "report/plot/markup.hpp"
#include "report/text/results_table.hpp"
#include "report/text/run_report.hpp"

namespace xtune::report {

namespace {

constexpr std::array all_outcomes{Outcome::ok,           Outcome::pruned,         Outcome::rejected,
                                  Outcome::wrong_result, Outcome::compile_failed, Outcome::launch_failed,
                                  Outcome::timed_out,    Outcome::crashed};
constexpr std::size_t most_messages = 24, longest_message = 400;

const char* style_of(Outcome outcome) {
  if (outcome == Outcome::ok) return "ok";
  return outcome == Outcome::pruned || outcome == Outcome::rejected ? "pruned" : "bad";
}

const char* meaning_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::ok:
      return "measured in full, right result";
    case Outcome::pruned:
      return "dropped early: slower than the best";
    case Outcome::rejected:
      return "a device limit forbids it";
    case Outcome::compile_failed:
      return "the compiler refused it";
    case Outcome::launch_failed:
      return "the driver refused it";
    case Outcome::wrong_result:
      return "outputs differ from the reference";
    case Outcome::timed_out:
      return "exceeded its time limit";
    case Outcome::crashed:
      return "the compiler or the kernel crashed";
  }
  return "";
}

/// Finals measure configurations again that passed before: only their failures count.
bool is_counted(const CaseEvent& event) { return !event.of_finals || event.record->outcome != Outcome::ok; }

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
  const record::Record* example = nullptr;
};

std::vector<MessageGroup> message_groups(const CaseView& view) {
  std::map<std::pair<Outcome, std::string>, MessageGroup> groups;
  for (const CaseEvent& event : view.events) {
    const record::Record& record = *event.record;
    if (record.outcome == Outcome::ok || record.outcome == Outcome::pruned) continue;
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
  for (auto at = all_outcomes.rbegin(); at != all_outcomes.rend(); ++at)
    if (counts.contains(*at)) lanes.emplace_back(to_string(*at)), outcomes.push_back(*at);
  plot::Canvas canvas(
      {"Outcome of each configuration in the order of the search", "The table gives the counts."},
      {plot::PlotScale(plot::ScaleKind::linear, 0, static_cast<double>(view.events.size()) + 0.5), "evaluations", 6},
      {plot::PlotScale::categories(lanes), "", 8}, {460, 50 + 26.0 * static_cast<double>(lanes.size())});
  for (std::size_t lane = 0; lane < outcomes.size(); ++lane)
    canvas.strokes(
        drawn_points(
            view, [](std::size_t place, const CaseEvent&) { return static_cast<double>(place + 1); },
            [&](std::size_t, const CaseEvent&) { return static_cast<double>(lane); },
            [&](const CaseEvent& event) { return is_counted(event) && event.record->outcome == outcomes[lane]; }),
        style_of(outcomes[lane]), view.limits.drawn);
  return figure(canvas, "Outcome of each configuration in the order of the search");
}

std::string message_table(const CaseView& view) {
  const std::vector<MessageGroup> groups = message_groups(view);
  if (groups.empty()) return "";
  PageTable content;
  content.caption = "Why configurations failed, the most frequent reason first";
  content.header = {"outcome", "count", "message of an example", "its configuration"};
  content.right = {false, true, false, false};
  content.wraps = {false, false, true, true};
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
    if (is_counted(event)) ++counts[event.record->outcome], ++sum;
  PageTable content;
  content.caption = "Outcomes";
  content.header = {"outcome", "count", "share", "meaning"};
  content.right = {false, true, true, false};
  content.wraps = {false, false, false, true};
  for (const Outcome outcome : all_outcomes)
    if (const auto found = counts.find(outcome); found != counts.end())
      content.rows.push_back(
          {to_string(outcome), std::to_string(found->second),
           fmt::format("{:.1f} %", 100.0 * static_cast<double>(found->second) / static_cast<double>(sum)),
           meaning_of(outcome)});
  return heading(view.heading, "Outcomes") + "<div class=\"figures\">\n" + outcome_map(view, counts) + table(content) +
         "</div>\n" + message_table(view);
}

namespace {

constexpr std::size_t longest_tip = 200;

class ConfigurationTable {
 public:
  explicit ConfigurationTable(const CaseView& view)
      : view_(view), spec_(*view.shown.spec), measured_(spec_, view.shown.ranked, *view.shown.standings) {
    content_.caption = "Configurations, best first, then those that failed";
    content_.sortable = true;
    if (!view.shown.ranked.empty()) {
      content_.header = measured_.header();
      content_.header.insert(content_.header.begin(), "#");
      for (const std::string& name : record::metric_names(spec_)) content_.header.push_back(name);
    }
    measured_columns_ = content_.header.size();
    content_.right.assign(measured_columns_, true);
    for (const space::Parameter& parameter : view.varied) {
      content_.header.push_back(parameter.name);
      content_.right.push_back(!std::holds_alternative<std::string>(parameter.values.front()));
    }
    content_.header.emplace_back("outcome");
    fill();
  }
  const PageTable& content() const { return content_; }

 private:
  void fill() {
    const auto failed = [](const CaseEvent& event) {
      return event.record->outcome != Outcome::ok && event.record->outcome != Outcome::pruned;
    };
    const auto failures = static_cast<std::size_t>(std::count_if(view_.events.begin(), view_.events.end(), failed));
    const std::size_t most = view_.limits.listed;
    const std::size_t ranked = std::min(view_.shown.ranked.size(), most - std::min(failures, most / 4));
    if (failures > 0) content_.header.emplace_back("message");
    content_.wraps.assign(content_.header.size(), false);
    content_.wraps.back() = failures > 0;
    for (std::size_t i = 0; i < ranked; ++i) add(std::to_string(i + 1), *view_.shown.ranked[i]);
    for (const CaseEvent& event : view_.events)
      if (content_.rows.size() < most && failed(event)) add("", *event.record);
  }

  void add(std::string rank, const record::Record& record) {
    std::vector<std::string> row;
    if (record.outcome == Outcome::ok) {
      row = measured_.cells(record);
      row.insert(row.begin(), std::move(rank));
      for (const auto& [name, value] : record::metrics_of(spec_, record)) row.push_back(plot::short_number(value, 4));
    }
    row.resize(measured_columns_);
    for (const space::Parameter& parameter : view_.varied) {
      const auto value = record.config.find(parameter.name);
      row.push_back(value == record.config.end() ? "" : space::shown_text(value->second));
    }
    row.emplace_back(to_string(record.outcome));
    if (row.size() < content_.header.size())
      row.push_back(base::printable_lines(base::first_line(record.message), longest_tip));
    content_.rows.push_back(std::move(row));
  }

  const CaseView& view_;
  const spec::Spec& spec_;
  const MeasuredColumns measured_;
  PageTable content_;
  std::size_t measured_columns_ = 0;
};

}  // namespace

std::string configurations_section(const CaseView& view) {
  if (view.events.empty()) return "";
  const ConfigurationTable configurations(view);
  const PageTable& content = configurations.content();
  if (content.rows.empty()) return "";
  std::string fixed;
  const record::Record& example = view.shown.best ? *view.shown.best->record : *view.events.front().record;
  for (const auto& [name, value] : example.config)
    if (std::none_of(view.varied.begin(), view.varied.end(), [&](const auto& one) { return one.name == name; }))
      fixed += (fixed.empty() ? "" : " ") + name + "=" + space::shown_text(value);
  std::string note = fmt::format("{} of {} records are listed; `xtune store export --format csv` writes all of them.",
                                 content.rows.size(), view.events.size());
  if (!fixed.empty()) note += " The same in all: " + fixed + ".";
  return heading(view.heading, "Configurations") + table(content) + paragraph(note, "note");
}

std::string rows_script(const CaseView& view) {
  nlohmann::ordered_json json;
  json["p"] = json["v"] = json["m"] = json["r"] = nlohmann::ordered_json::array();
  for (const space::Parameter& parameter : view.varied) {
    json["p"].push_back(base::one_line(parameter.name));
    nlohmann::ordered_json values = nlohmann::ordered_json::array();
    for (const Value& value : parameter.values) values.push_back(space::shown_text(value));
    json["v"].push_back(std::move(values));
  }
  std::map<std::string, std::size_t> messages;
  for (const std::size_t place : view.drawn) {
    const record::Record& record = *view.events[place].record;
    nlohmann::ordered_json row = nlohmann::ordered_json::array();
    for (std::size_t i = 0; i < view.varied.size(); ++i) {
      const auto at = view.level(record, i);
      row.push_back(at ? static_cast<int>(*at) : -1);
    }
    std::string word = record.outcome == Outcome::ok ? "" : to_string(record.outcome);
    if (!record.message.empty()) word += ": " + base::printable(base::first_line(record.message), longest_tip);
    if (view.events[place].of_finals) word = word.empty() ? "finals" : word;
    const auto [entry, fresh] = messages.try_emplace(word, messages.size());
    if (fresh) json["m"].push_back(word);
    row.push_back(entry->second);
    row.push_back(std::isfinite(view.events[place].merit) ? view.merit.text(view.events[place].merit) : "");
    json["r"].push_back(std::move(row));
  }
  std::string text = json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  // In a script element only "<" could end it.
  std::string safe;
  for (const char c : text) safe += c == '<' ? "\\u003c" : std::string(1, c);
  return fmt::format("<script type=\"application/json\" class=\"rows\">{}</script>\n", safe);
}

}  // namespace xtune::report
