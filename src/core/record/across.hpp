// One configuration for several cases: how it is chosen.
#pragma once

#include <optional>
#include <vector>

#include "core/record/lookup.hpp"
#include "core/record/objective.hpp"

namespace xtune::record {

/// The records of one of the cases. Does not own them.
struct CaseRecords {
  Bindings problem;
  device::DeviceInfo device;
  std::vector<const Record*> records;
};

struct AcrossChoice {
  Bindings config;
  double score = 0;                    ///< geometric mean of the ratios, or their maximum
  std::vector<double> ratios;          ///< by case: its value over the case's best, at least 1
  std::vector<const Record*> records;  ///< by case; pointers to the given records
};

/// Of the configurations that are ok in every case, the one with the minimum score; equal scores are ordered by the
/// configuration's text. A value is Objective::search_score: the time if there is no other objective. nullopt: no
/// configuration passed in all cases.
std::optional<AcrossChoice> choose_across(const Objective& objective, spec::ObjectiveSpec::Across across,
                                          const std::vector<CaseRecords>& cases);

/// The stored records that can be used for a case: of exactly this problem and kind of device, without an obstacle in
/// `rules`, and with a key that fits at least as well as required.
std::vector<const Record*> answering(const std::vector<Record>& stored, const Bindings& problem,
                                     const device::DeviceInfo& device, const LookupRules& rules,
                                     KeyFit worst = KeyFit::holds);

}  // namespace xtune::record
