// Lists are cut to what a reader looks at; JSON has the counts of all.
#include "report/text/comparison_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "core/space/value.hpp"
#include "core/store/record.hpp"
#include "report/text/run_report.hpp"
#include "report/text/table.hpp"

namespace xtune::report {

namespace {

using Json = nlohmann::ordered_json;
using store::CaseComparison, store::Change, store::ComparedGroup, store::Comparisons, store::ConfigChange,
    store::TimeRatio;

std::string title(const ComparedGroup& group) {
  const std::string problem = space::shown_text(group.problem);
  return problem.empty() ? group.kernel : group.kernel + ", " + problem;
}

std::string device_of(const ComparedGroup& group) {
  return fmt::format("{} ({})", group.device.name, group.device.arch);
}

std::string answer_text(const store::Record* record) {
  if (!record) return "no configuration passed";
  std::string text = base::human_time_ms(record->time_ms.median);
  if (record->time_ms.low < record->time_ms.high)
    text +=
        fmt::format(" ({} .. {})", base::human_time_ms(record->time_ms.low), base::human_time_ms(record->time_ms.high));
  return text + ", " + space::shown_text(record->config);
}

std::string ratio_text(const TimeRatio& ratio) {
  if (ratio.change == Change::lost || ratio.change == Change::found) return to_string(ratio.change);
  if (ratio.low < ratio.high)
    return fmt::format("{:.3f} ({:.3f} .. {:.3f}), {}", ratio.value, ratio.low, ratio.high, to_string(ratio.change));
  return fmt::format("{:.3f}, {}", ratio.value, to_string(ratio.change));
}

std::string outcome_text(const ConfigChange& change) {
  std::string text = fmt::format("{}: {} -> {}", space::shown_text(change.before->config),
                                 to_string(change.before->outcome), to_string(change.after->outcome));
  const std::string& message = change.after->message.empty() ? change.before->message : change.after->message;
  // What stands in brackets or behind a semicolon are details.
  const std::string gist = message.substr(0, std::min({message.find('\n'), message.find(" ("), message.find(';')}));
  return gist.empty() ? text : text + ": " + gist;
}

struct Lines {
  void add(std::size_t indent, const std::string& line) {
    text += std::string(indent, ' ') + base::one_line(line) + "\n";
  }
  void add_rest(std::size_t indent, std::size_t all, std::size_t listed) {
    if (all > listed) add(indent, fmt::format("... {} more (--rows lists them)", all - listed));
  }
  std::string text;
};

void add_case(Lines& lines, const CaseComparison& pair, std::size_t rows) {
  lines.add(0, title(pair.before));
  const bool other_device = device_of(pair.before) != device_of(pair.after);
  if (!other_device) lines.add(2, "on " + device_of(pair.before));
  lines.add(2, "before: " + answer_text(pair.best_before) + (other_device ? ", on " + device_of(pair.before) : ""));
  lines.add(2, "after:  " + answer_text(pair.best_after) + (other_device ? ", on " + device_of(pair.after) : ""));
  const std::string objective = pair.best_after ? pair.best_after->objective : "";
  lines.add(
      2, "answer" + (objective.empty() ? "" : " (" + objective + ")") + ", after / before: " + ratio_text(pair.ratio));
  if (pair.same_best && pair.best_after && pair.same_best->after->config != pair.best_after->config)
    lines.add(2, "the answer before, after / before: " + ratio_text(pair.same_best->ratio));
  const auto faster = std::count_if(pair.timed.begin(), pair.timed.end(),
                                    [](const ConfigChange& each) { return each.ratio.change == Change::faster; });
  const std::size_t untimed = pair.both - pair.same - pair.timed.size() - pair.outcomes.size();
  lines.add(2,
            fmt::format("configurations: {} in both ({} the same, {} faster, {} slower, {} with another outcome{}), {} "
                        "only before, {} only after",
                        pair.both, pair.same, faster, pair.timed.size() - static_cast<std::size_t>(faster),
                        pair.outcomes.size(), untimed > 0 ? fmt::format(", {} not timed in full", untimed) : "",
                        pair.only_before, pair.only_after));
  for (std::size_t i = 0; i < std::min(rows, pair.timed.size()); ++i)
    lines.add(4, space::shown_text(pair.timed[i].before->config) + ": " + ratio_text(pair.timed[i].ratio));
  lines.add_rest(4, pair.timed.size(), rows);
  for (std::size_t i = 0; i < std::min(rows, pair.outcomes.size()); ++i) lines.add(4, outcome_text(pair.outcomes[i]));
  lines.add_rest(4, pair.outcomes.size(), rows);
  if (!pair.differences.empty()) lines.add(2, "what differs (before -> after):");
  for (const std::string& difference : pair.differences) lines.add(4, difference);
}

std::size_t count_of(const Comparisons& comparisons, Change change) {
  return static_cast<std::size_t>(std::count_if(comparisons.cases.begin(), comparisons.cases.end(),
                                                [&](const auto& pair) { return pair.ratio.change == change; }));
}

constexpr Change changes[] = {Change::same, Change::faster, Change::slower, Change::lost, Change::found};

Json answer_json(const store::Record* record) {
  if (!record) return nullptr;
  Json json{{"config", bindings_json(record->config)}, {"time_ms", record->time_ms.median}};
  json["interval_ms"] = nullptr;
  if (record->time_ms.low < record->time_ms.high) json["interval_ms"] = {record->time_ms.low, record->time_ms.high};
  json["driver"] = record->device.driver;
  json["toolchain"] = record->toolchain;
  return json;
}

Json ratio_json(const TimeRatio& ratio) {
  const bool timed = ratio.change != Change::lost && ratio.change != Change::found;
  Json json{{"change", to_string(ratio.change)}, {"ratio", nullptr}, {"interval", nullptr}};
  if (timed) json["ratio"] = ratio.value;
  if (timed && ratio.low < ratio.high) json["interval"] = {ratio.low, ratio.high};
  return json;
}

Json group_json(const ComparedGroup& group) {
  return {{"kernel", group.kernel},
          {"problem", bindings_json(group.problem)},
          {"device", group.device.name},
          {"arch", group.device.arch}};
}

Json case_json(const CaseComparison& pair, std::size_t rows) {
  Json json{{"kernel", pair.before.kernel}, {"problem", bindings_json(pair.before.problem)}};
  json["device"] = {{"before", pair.before.device.name}, {"after", pair.after.device.name}};
  json["answer"] = ratio_json(pair.ratio);
  json["before"] = answer_json(pair.best_before);
  json["after"] = answer_json(pair.best_after);
  json["same_config"] = pair.same_best ? ratio_json(pair.same_best->ratio) : Json();
  const auto faster = std::count_if(pair.timed.begin(), pair.timed.end(),
                                    [](const ConfigChange& each) { return each.ratio.change == Change::faster; });
  json["configurations"] = {{"both", pair.both},
                            {"same", pair.same},
                            {"faster", faster},
                            {"slower", pair.timed.size() - static_cast<std::size_t>(faster)},
                            {"other_outcome", pair.outcomes.size()},
                            {"only_before", pair.only_before},
                            {"only_after", pair.only_after}};
  json["changed"] = Json::array();
  for (std::size_t i = 0; i < std::min(rows, pair.timed.size()); ++i) {
    Json one = ratio_json(pair.timed[i].ratio);
    one["config"] = bindings_json(pair.timed[i].before->config);
    json["changed"].push_back(std::move(one));
  }
  json["outcomes"] = Json::array();
  for (std::size_t i = 0; i < std::min(rows, pair.outcomes.size()); ++i)
    json["outcomes"].push_back({{"config", bindings_json(pair.outcomes[i].before->config)},
                                {"before", to_string(pair.outcomes[i].before->outcome)},
                                {"after", to_string(pair.outcomes[i].after->outcome)},
                                {"message", pair.outcomes[i].after->message}});
  json["differences"] = pair.differences;
  return json;
}

}  // namespace

std::string comparison_text(const Comparisons& comparisons, std::size_t rows) {
  Lines lines;
  for (const CaseComparison& pair : comparisons.cases) {
    add_case(lines, pair, rows);
    lines.text += "\n";
  }
  for (const ComparedGroup& group : comparisons.only_before)
    lines.add(0, fmt::format("{} on {}: only before", title(group), device_of(group)));
  for (const ComparedGroup& group : comparisons.only_after)
    lines.add(0, fmt::format("{} on {}: only after", title(group), device_of(group)));
  std::string counts;
  for (const Change change : changes)
    if (const std::size_t count = count_of(comparisons, change); count > 0)
      counts += fmt::format("{}{} {}", counts.empty() ? ": " : ", ", count, to_string(change));
  lines.add(0, counted(comparisons.cases.size(), "problem") + " compared" + counts);
  return std::move(lines.text);
}

nlohmann::ordered_json comparison_json(const Comparisons& comparisons, std::size_t rows) {
  Json json{{"cases", Json::array()}, {"only_before", Json::array()}, {"only_after", Json::array()}};
  for (const CaseComparison& pair : comparisons.cases) json["cases"].push_back(case_json(pair, rows));
  for (const ComparedGroup& group : comparisons.only_before) json["only_before"].push_back(group_json(group));
  for (const ComparedGroup& group : comparisons.only_after) json["only_after"].push_back(group_json(group));
  for (const Change change : changes) json["summary"][to_string(change)] = count_of(comparisons, change);
  return json;
}

std::vector<nlohmann::ordered_json> comparison_rows(const Comparisons& comparisons) {
  std::vector<Json> rows;
  for (const CaseComparison& pair : comparisons.cases) {
    Json row{{"kernel", pair.before.kernel},
             {"problem", bindings_json(pair.before.problem)},
             {"device_before", pair.before.device.name},
             {"device_after", pair.after.device.name},
             {"change", to_string(pair.ratio.change)},
             {"ratio", nullptr},
             {"ratio_low", nullptr},
             {"ratio_high", nullptr},
             {"time_ms_before", nullptr},
             {"time_ms_after", nullptr}};
    if (pair.best_before) row["time_ms_before"] = pair.best_before->time_ms.median;
    if (pair.best_after) row["time_ms_after"] = pair.best_after->time_ms.median;
    if (pair.best_before && pair.best_after) {
      row["ratio"] = pair.ratio.value;
      row["ratio_low"] = pair.ratio.low;
      row["ratio_high"] = pair.ratio.high;
    }
    row["before"] = pair.best_before ? bindings_json(pair.best_before->config) : Json::object();
    row["after"] = pair.best_after ? bindings_json(pair.best_after->config) : Json::object();
    row["outcomes_changed"] = pair.outcomes.size();
    row["differences"] = fmt::format("{}", fmt::join(pair.differences, "; "));
    rows.push_back(std::move(row));
  }
  return rows;
}

namespace {

std::string percent(std::size_t part, std::size_t whole) {
  return fmt::format("{:.0f} %", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

}  // namespace

std::string top_values_text(const store::TopValues& top) {
  if (top.best == 0) return "";
  std::string text = fmt::format("among the best {:.3g} % ({} of {} measured configurations):\n", 100 * top.share,
                                 top.best, top.measured);
  if (top.values.empty()) return text + "  each parameter has one value\n";
  std::vector<std::vector<std::string>> rows;
  std::string last;
  for (const store::ValueCount& each : top.values) {
    if (each.best == 0) continue;
    rows.push_back({each.parameter == last ? "" : each.parameter, space::shown_text(each.value),
                    percent(each.best, top.best), percent(each.measured, top.measured)});
    last = each.parameter;
  }
  return text + render_table({"parameter", "value", "among these", "of all measured"}, rows);
}

nlohmann::ordered_json top_values_json(const store::TopValues& top) {
  nlohmann::ordered_json json{{"share", top.share}, {"measured", top.measured}, {"best", top.best}};
  json["parameters"] = nlohmann::ordered_json::object();
  for (const store::ValueCount& each : top.values) {
    if (top.best == 0) break;
    json["parameters"][each.parameter].push_back(
        {{"value", store::to_json(each.value)},
         {"best", static_cast<double>(each.best) / static_cast<double>(top.best)},
         {"measured", static_cast<double>(each.measured) / static_cast<double>(top.measured)}});
  }
  return json;
}

}  // namespace xtune::report
