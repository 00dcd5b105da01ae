// The data of the page's script: what each drawn record is, for tips, chosen axes and comparisons.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "core/store/objective.hpp"
#include "report/page/parts.hpp"
#include "report/text/run_report.hpp"
#include "system/clock.hpp"

namespace xtune::report {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t longest_told = 200;

/// A number of a record, as an axis. NaN: the record has none.
struct Quantity {
  std::string name;
  std::function<double(const CaseEvent&)> of;
};

double known(double value, bool is_known) { return is_known ? value : NAN; }

std::vector<Quantity> quantities_of(const CaseView& view) {
  const auto optional = [](const auto& value) { return value ? static_cast<double>(*value) : NAN; };
  const plot::TimeUnit unit = view.merit.unit();
  std::vector<Quantity> list{{"evaluation", [](const CaseEvent& event) { return event.number; }},
                             {"seconds of the run", [](const CaseEvent& event) { return event.seconds; }},
                             {view.merit.axis(), [](const CaseEvent& event) { return event.merit; }}};
  const auto add_time = [&](const char* name, double measure::Summary::*member) {
    list.push_back({fmt::format("{}, {}", name, unit.name), [=](const CaseEvent& event) {
                      const measure::Summary& time = event.record->time_ms;
                      return known(time.*member * unit.per_ms, time.count > 0);
                    }});
  };
  add_time("shortest sample", &measure::Summary::min);
  add_time("95 % interval from", &measure::Summary::low);
  add_time("95 % interval to", &measure::Summary::high);
  add_time("longest sample", &measure::Summary::max);
  list.push_back({"samples", [](const CaseEvent& event) {
                    const auto count = static_cast<double>(event.record->time_ms.count);
                    return known(count, count > 0);
                  }});
  list.push_back({"compile time, s",
                  [](const CaseEvent& event) { return known(event.record->compile_s, event.record->compile_s > 0); }});
  list.push_back(
      {"registers per thread", [=](const CaseEvent& event) { return optional(event.record->usage.registers); }});
  list.push_back(
      {"shared memory, bytes", [=](const CaseEvent& event) { return optional(store::shared_bytes(*event.record)); }});
  list.push_back(
      {"spilled bytes", [=](const CaseEvent& event) { return optional(event.record->usage.spilled_bytes); }});
  const spec::Spec& spec = *view.shown.spec;
  for (const std::string& name : store::metric_names(spec))
    list.push_back({name, [&spec, name](const CaseEvent& event) -> double {
                      if (event.record->outcome != Outcome::ok) return NAN;
                      for (const auto& [metric, value] : store::metrics_of(spec, *event.record))
                        if (metric == name) return value;
                      return NAN;
                    }});
  return list;
}

/// Words by number, each once.
class Words {
 public:
  std::size_t number(const std::string& word) {
    const auto [entry, fresh] = numbers_.try_emplace(word, numbers_.size());
    if (fresh) list_.push_back(word);
    return entry->second;
  }
  const Json& list() const { return list_; }

 private:
  std::map<std::string, std::size_t> numbers_;
  Json list_ = Json::array();
};

std::string message_of(const CaseEvent& event) {
  const store::Record& record = *event.record;
  std::string word = record.outcome == Outcome::ok ? "" : to_string(record.outcome);
  if (!record.message.empty()) word += ": " + base::printable(base::first_line(record.message), longest_told);
  return word.empty() && event.of_finals ? "finals" : word;
}

/// With six digits, which a plot cannot show.
Json number_json(double value) {
  if (!std::isfinite(value)) return nullptr;
  return std::stod(fmt::format("{:.6g}", value));
}

/// Those that a drawn record has, and the merit in any case.
std::vector<Quantity> present(const CaseView& view, std::vector<Quantity> list) {
  std::erase_if(list, [&](const Quantity& quantity) {
    return quantity.name != view.merit.axis() && std::all_of(view.drawn.begin(), view.drawn.end(), [&](std::size_t at) {
             return std::isnan(quantity.of(view.events[at]));
           });
  });
  return list;
}

}  // namespace

std::string explore_section(const CaseView& view) {
  if (view.drawn.empty()) return "";
  return heading(view.heading, "Explore") +
         "<div class=\"explore\"><p class=\"note\">This part needs a browser that runs the page's script.</p></div>\n";
}

std::string rows_script(const CaseView& view) {
  const std::vector<Quantity> quantities = present(view, quantities_of(view));
  Json json{{"p", Json::array()}, {"v", Json::array()}, {"q", Json::array()}, {"r", Json::array()}};
  for (const space::Parameter& parameter : view.varied) {
    json["p"].push_back(base::one_line(parameter.name));
    Json values = Json::array();
    for (const Value& value : parameter.values) values.push_back(space::shown_text(value));
    json["v"].push_back(std::move(values));
  }
  for (const Quantity& quantity : quantities) {
    if (quantity.name == view.merit.axis()) json["merit"] = json["q"].size();
    json["q"].push_back(base::one_line(quantity.name));
  }
  json["up"] = view.merit.maximize();
  json["i"] = view.order;
  Words messages, outcomes, attempts;
  Json runs = Json::array();
  for (const std::size_t place : view.drawn) {
    const CaseEvent& event = view.events[place];
    Json row = Json::array();
    for (std::size_t i = 0; i < view.varied.size(); ++i) {
      const auto at = view.level(*event.record, i);
      row.push_back(at ? static_cast<int>(*at) : -1);
    }
    row.push_back(outcomes.number(to_string(event.record->outcome)));
    row.push_back(messages.number(message_of(event)));
    row.push_back(std::isfinite(event.merit) ? view.merit.text(event.merit) : "");
    const std::size_t run = attempts.number(event.record->attempt);
    if (run == runs.size())
      runs.push_back(fmt::format("{}: {}", run + 1, system::utc_text(event.record->unix_time_ms)));
    row.push_back(run);
    Json numbers = Json::array();
    for (const Quantity& quantity : quantities) numbers.push_back(number_json(quantity.of(event)));
    row.push_back(std::move(numbers));
    json["r"].push_back(std::move(row));
  }
  json["o"] = outcomes.list();
  json["m"] = messages.list();
  json["runs"] = std::move(runs);
  const std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  // In a script element only "<" could end it.
  std::string safe;
  for (const char c : text) safe += c == '<' ? "\\u003c" : std::string(1, c);
  return fmt::format("<script type=\"application/json\" class=\"rows\">{}</script>\n", safe);
}

}  // namespace xtune::report
