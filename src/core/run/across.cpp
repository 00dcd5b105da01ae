// Chooses by the ratio to each case's best.
#include "core/run/across.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "core/record/finals.hpp"

namespace xtune {

std::vector<Bindings> shortlist(const Objective& objective, const std::vector<TuneResult>& cases, std::size_t most) {
  std::map<std::string, Bindings> listed;
  for (const TuneResult& each : cases) {
    const auto order = ranked(each.all(), objective.criterion(each.problem, each.device));
    for (std::size_t i = 0; i < std::min(most, order.size()); ++i)
      listed.emplace(text_of(order[i]->config), order[i]->config);
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

std::optional<AcrossChoice> choose_across(const Objective& objective, ObjectiveSpec::Across across,
                                          const std::vector<TuneResult>& cases) {
  std::map<std::string, AcrossChoice> choices;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const auto order = ranked(cases[i].all(), objective.criterion(cases[i].problem, cases[i].device));
    double least = HUGE_VAL;
    for (const Record* record : order) least = std::min(least, objective.search_score(*record));
    for (const Record* record : order) {
      AcrossChoice& choice = choices[text_of(record->config)];
      if (choice.records.size() != i) continue;  // a case before had no result of it
      choice.config = record->config;
      choice.records.push_back(record);
      choice.ratios.push_back(objective.search_score(*record) / least);
    }
  }
  std::optional<AcrossChoice> best;
  for (auto& [text, choice] : choices) {
    if (choice.records.size() != cases.size() || cases.empty()) continue;
    double sum = 0, worst = 1;
    for (const double ratio : choice.ratios) {
      sum += std::log(ratio);
      worst = std::max(worst, ratio);
    }
    choice.score = across == ObjectiveSpec::Across::worst ? worst : std::exp(sum / static_cast<double>(cases.size()));
    if (!best || choice.score < best->score) best = choice;
  }
  return best;
}

}  // namespace xtune
