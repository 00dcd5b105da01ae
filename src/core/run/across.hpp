// One configuration for several cases: which to measure everywhere, and which to choose.
#pragma once

#include <optional>
#include <vector>

#include "core/record/objective.hpp"
#include "core/run/tuner.hpp"

namespace xtune {

/// The `most` best configurations of each case, each once.
std::vector<Bindings> shortlist(const Objective& objective, const std::vector<TuneResult>& cases, std::size_t most);

/// Those of the list that the case has neither measured in full nor seen fail.
std::vector<Bindings> not_measured(const TuneResult& of_case, const std::vector<Bindings>& list);

struct AcrossChoice {
  Bindings config;
  double score = 0;                    ///< geometric mean of the ratios, or the worst of them
  std::vector<double> ratios;          ///< by case: its value over the case's best, at least 1
  std::vector<const Record*> records;  ///< by case; of the cases' results
};

/// Of the configurations that are ok in every case the one of least score; equal scores by the configuration's text. A
/// value is Objective::search_score: the time where there is no other objective. nullopt: no configuration passed
/// everywhere.
std::optional<AcrossChoice> choose_across(const Objective& objective, ObjectiveSpec::Across across,
                                          const std::vector<TuneResult>& cases);

}  // namespace xtune
