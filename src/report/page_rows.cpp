// The table of configurations, and the rows that the script shows for marks.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "core/record/metrics.hpp"
#include "plot/markup.hpp"
#include "report/measured_columns.hpp"
#include "report/page_parts.hpp"
#include "report/page_sections.hpp"
#include "report/run_report.hpp"

namespace xtune::report {
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
