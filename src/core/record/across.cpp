// Chooses by the ratio to each case's best.
#include "core/record/across.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "core/space/bindings_text.hpp"

namespace xtune::record {

std::optional<AcrossChoice> choose_across(const Objective& objective, spec::ObjectiveSpec::Across across,
                                          const std::vector<CaseRecords>& cases) {
  std::map<std::string, AcrossChoice> choices;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const auto order = ranked(cases[i].records, objective.criterion(cases[i].problem, cases[i].device));
    double least = HUGE_VAL;
    for (const Record* record : order) least = std::min(least, objective.search_score(*record));
    for (const Record* record : order) {
      AcrossChoice& choice = choices[space::bindings_text(record->config)];
      if (choice.records.size() != i) continue;  // an earlier case has no result of it
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
    choice.score =
        across == spec::ObjectiveSpec::Across::worst ? worst : std::exp(sum / static_cast<double>(cases.size()));
    if (!best || choice.score < best->score) best = choice;
  }
  return best;
}

std::vector<const Record*> answering(const std::vector<Record>& stored, const Bindings& problem,
                                     const device::DeviceInfo& device, const LookupRules& rules, KeyFit worst) {
  std::vector<const Record*> found;
  for (const Record& record : stored) {
    if (record.problem != problem || !same_device(record.device, device) || is_sanitized(record)) continue;
    if (rules.obstacle && !rules.obstacle(record).empty()) continue;
    if (worst != KeyFit::differs && rules.differences && key_fit(rules.differences(record)) > worst) continue;
    found.push_back(&record);
  }
  return found;
}

}  // namespace xtune::record
