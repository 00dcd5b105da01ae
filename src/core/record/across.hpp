// One configuration for several cases: which one to choose.
#pragma once

#include <optional>
#include <vector>

#include "core/record/lookup.hpp"
#include "core/record/objective.hpp"

namespace xtune::record {

/// What is known of one of the cases. Borrows the records.
struct CaseRecords {
  Bindings problem;
  device::DeviceInfo device;
  std::vector<const Record*> records;
};

struct AcrossChoice {
  Bindings config;
  double score = 0;                    ///< geometric mean of the ratios, or the worst of them
  std::vector<double> ratios;          ///< by case: its value over the case's best, at least 1
  std::vector<const Record*> records;  ///< by case; of those that were given
};

/// Of the configurations that are ok in every case the one of least score; equal scores by the configuration's text. A
/// value is Objective::search_score: the time where there is no other objective. nullopt: no configuration passed
/// everywhere.
std::optional<AcrossChoice> choose_across(const Objective& objective, spec::ObjectiveSpec::Across across,
                                          const std::vector<CaseRecords>& cases);

/// Of stored records those that answer for a case: of this very problem on this very kind of device, with no obstacle
/// in `rules`, and of a key that fits at least so well.
std::vector<const Record*> answering(const std::vector<Record>& stored, const Bindings& problem,
                                     const device::DeviceInfo& device, const LookupRules& rules,
                                     KeyFit worst = KeyFit::holds);

}  // namespace xtune::record
