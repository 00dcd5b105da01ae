// Counts the values of the best configurations.
#include "report/top_values.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "core/record/best.hpp"
#include "core/record/record_json.hpp"
#include "core/space/bindings_text.hpp"
#include "report/table.hpp"

namespace xtune::report {
namespace {

/// The configurations that passed, each once, the ranked ones first.
std::vector<const Bindings*> passed(const std::vector<const record::Record*>& records,
                                    const std::vector<const record::Record*>& ranked) {
  std::set<std::string> known;
  std::vector<const Bindings*> configs;
  const auto add = [&](const record::Record& record) {
    if (known.insert(space::bindings_text(record.config)).second) configs.push_back(&record.config);
  };
  for (const record::Record* const record : ranked) add(*record);
  for (const record::Record* const record : records)
    if (record->outcome == Outcome::pruned) add(*record);
  return configs;
}

std::string percent(std::size_t part, std::size_t whole) {
  return fmt::format("{:.0f} %", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

}  // namespace

TopValues top_values(const spec::Spec& spec, const std::vector<const record::Record*>& records,
                     const record::Criterion& criterion, double share) {
  const std::vector<const record::Record*> ranked = record::ranked(records, criterion);
  const std::vector<const Bindings*> fully = passed({}, ranked), configs = passed(records, ranked);
  TopValues top{share, configs.size(), 0, {}};
  const auto wanted = static_cast<std::size_t>(std::ceil(share * static_cast<double>(configs.size()) - 1e-9));
  top.best = std::min(std::max<std::size_t>(wanted, 1), fully.size());
  for (const space::Parameter& parameter : spec.parameters) {
    std::map<Value, ValueCount> counts;
    for (std::size_t i = 0; i < configs.size(); ++i) {
      const auto found = configs[i]->find(parameter.name);
      if (found == configs[i]->end()) continue;
      ValueCount& count = counts.try_emplace(found->second, ValueCount{parameter.name, found->second}).first->second;
      ++count.measured;
      if (i < top.best) ++count.best;
    }
    if (counts.size() < 2) continue;
    std::vector<ValueCount> sorted;
    for (auto& [value, count] : counts) sorted.push_back(std::move(count));
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const ValueCount& a, const ValueCount& b) { return a.best > b.best; });
    std::move(sorted.begin(), sorted.end(), std::back_inserter(top.values));
  }
  return top;
}

std::string top_values_text(const TopValues& top) {
  if (top.best == 0) return "";
  std::string text = fmt::format("among the best {:.3g} % ({} of {} measured configurations):\n", 100 * top.share,
                                 top.best, top.measured);
  if (top.values.empty()) return text + "  each parameter has one value\n";
  std::vector<std::vector<std::string>> rows;
  std::string last;
  for (const ValueCount& each : top.values) {
    if (each.best == 0) continue;
    rows.push_back({each.parameter == last ? "" : each.parameter, space::shown_text(each.value),
                    percent(each.best, top.best), percent(each.measured, top.measured)});
    last = each.parameter;
  }
  return text + render_table({"parameter", "value", "among these", "of all measured"}, rows);
}

nlohmann::ordered_json top_values_json(const TopValues& top) {
  nlohmann::ordered_json json{{"share", top.share}, {"measured", top.measured}, {"best", top.best}};
  json["parameters"] = nlohmann::ordered_json::object();
  for (const ValueCount& each : top.values) {
    if (top.best == 0) break;
    json["parameters"][each.parameter].push_back(
        {{"value", record::to_json(each.value)},
         {"best", static_cast<double>(each.best) / static_cast<double>(top.best)},
         {"measured", static_cast<double>(each.measured) / static_cast<double>(top.measured)}});
  }
  return json;
}

}  // namespace xtune::report
