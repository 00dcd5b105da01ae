// The table of configurations, and the rows that the script shows of marks.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "core/record/metrics.hpp"
#include "plot/markup.hpp"
#include "report/page_parts.hpp"
#include "report/page_sections.hpp"
#include "report/run_report.hpp"

namespace xtune::report {
namespace {

constexpr std::size_t longest_tip = 200;

std::vector<std::string> parameter_cells(const spec::Spec& spec, const record::Record& record) {
  std::vector<std::string> cells;
  for (const space::Parameter& parameter : spec.parameters) {
    const auto value = record.config.find(parameter.name);
    cells.push_back(value == record.config.end() ? "-" : space::shown_text(value->second));
  }
  return cells;
}

PageTable configurations_table(const CaseView& view) {
  const spec::Spec& spec = *view.shown.spec;
  PageTable content;
  content.sortable = true;
  content.header = {"#"};
  for (const space::Parameter& parameter : spec.parameters) content.header.push_back(parameter.name);
  for (const char* name : {"outcome", "time", "interval low", "interval high", "noise"})
    content.header.emplace_back(name);
  for (const std::string& name : record::metric_names(spec)) content.header.push_back(name);
  content.header.emplace_back("message");
  content.right.assign(content.header.size(), true);
  content.right[1 + spec.parameters.size()] = content.right.back() = false;
  const auto add = [&](const std::string& rank, const record::Record& record) {
    std::vector<std::string> row = parameter_cells(spec, record);
    row.insert(row.begin(), rank);
    const bool timed = record.outcome == Outcome::ok;
    row.emplace_back(to_string(record.outcome));
    row.push_back(timed ? base::human_time_ms(measure::statistic(record.time_ms, spec.measure.statistic)) : "");
    row.push_back(timed ? base::human_time_ms(record.time_ms.low) : "");
    row.push_back(timed ? base::human_time_ms(record.time_ms.high) : "");
    row.push_back(timed ? fmt::format("{:.1f} %", record.time_ms.noise * 100) : "");
    if (timed)
      for (const auto& [name, value] : record::metrics_of(spec, record)) row.push_back(plot::short_number(value, 4));
    row.resize(content.header.size() - 1);
    row.push_back(base::printable_lines(record.message.substr(0, record.message.find('\n')), longest_tip));
    content.rows.push_back(std::move(row));
  };
  const std::size_t failures = view.events.size() - std::min(view.events.size(), view.ok_events());
  const std::size_t ranked =
      std::min(view.shown.ranked.size(), view.limits.listed - std::min(failures, view.limits.listed / 4));
  for (std::size_t i = 0; i < ranked; ++i) add(std::to_string(i + 1), *view.shown.ranked[i]);
  for (const CaseEvent& event : view.events) {
    if (content.rows.size() >= view.limits.listed) break;
    if (event.record->outcome != Outcome::ok && event.record->outcome != Outcome::pruned) add("-", *event.record);
  }
  return content;
}

}  // namespace

std::string configurations_section(const CaseView& view) {
  if (view.events.empty()) return "";
  PageTable content = configurations_table(view);
  if (content.rows.empty()) return "";
  content.caption = fmt::format("Configurations, best first, then failed ones");
  return heading(view.heading, "Configurations") + table(content) +
         paragraph(fmt::format("{} of {} are listed. `xtune store export --format csv` writes all of them.",
                               counted_text(content.rows.size(), "configuration"), view.events.size()),
                   "note");
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
    if (!record.message.empty())
      word += ": " + base::printable(record.message.substr(0, record.message.find('\n')), longest_tip);
    if (view.events[place].of_finals) word = word.empty() ? "finals" : word;
    const auto [entry, fresh] = messages.try_emplace(word, messages.size());
    if (fresh) json["m"].push_back(word);
    row.push_back(entry->second);
    row.push_back(std::isfinite(view.events[place].merit) ? view.merit.text(view.events[place].merit) : "");
    json["r"].push_back(std::move(row));
  }
  std::string text = json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  // Inside of a script element only "<" could end it.
  std::string safe;
  for (const char c : text) safe += c == '<' ? "\\u003c" : std::string(1, c);
  return fmt::format("<script type=\"application/json\" class=\"rows\">{}</script>\n", safe);
}

}  // namespace xtune::report
