// The id of a run.
#pragma once

#include <string>

namespace xtune::record {

/// 16 hex digits that are unique among all runs on all machines: the id of the run in its records.
std::string new_attempt();

}  // namespace xtune::record
