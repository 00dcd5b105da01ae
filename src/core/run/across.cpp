// The best of each case, for the others to measure.
#include "core/run/across.hpp"

#include <algorithm>
#include <map>
#include <string>

#include "core/space/bindings_text.hpp"

namespace xtune {

std::vector<Bindings> shortlist(const Objective& objective, const std::vector<TuneResult>& cases, std::size_t most) {
  std::map<std::string, Bindings> listed;
  for (const TuneResult& each : cases) {
    const auto order = ranked(each.all(), objective.criterion(each.problem, each.device));
    for (std::size_t i = 0; i < std::min(most, order.size()); ++i)
      listed.emplace(bindings_text(order[i]->config), order[i]->config);
  }
  std::vector<Bindings> list;
  for (auto& [text, config] : listed) list.push_back(std::move(config));
  return list;
}

std::vector<Bindings> not_measured(const TuneResult& of_case, const std::vector<Bindings>& list) {
  std::vector<Bindings> missing;
  const std::vector<const Record*> records = of_case.all();
  for (const Bindings& config : list)
    if (std::none_of(records.begin(), records.end(), [&](const Record* record) {
          return record->outcome != Outcome::pruned && record->config == config;
        }))
      missing.push_back(config);
  return missing;
}

CaseRecords records_of(const TuneResult& of_case) { return {of_case.problem, of_case.device, of_case.all()}; }

}  // namespace xtune
