// One configuration for several cases: which to measure in all of them.
#pragma once

#include <vector>

#include "core/record/across.hpp"
#include "core/run/tuner.hpp"

namespace xtune {

/// The `most` best configurations of each case, each once.
std::vector<Bindings> shortlist(const Objective& objective, const std::vector<TuneResult>& cases, std::size_t most);

/// Those of the list that the case has neither measured in full nor seen fail.
std::vector<Bindings> not_measured(const TuneResult& of_case, const std::vector<Bindings>& list);

/// A case as choose_across sees it. Borrows the result's records.
CaseRecords records_of(const TuneResult& of_case);

}  // namespace xtune
