// The id of a run.
#pragma once

#include <string>

namespace xtune::run {

/// 16 hex digits that no other run has, on whatever machine: what records name the run by that measured them.
std::string new_attempt();

}  // namespace xtune::run
