// Names of search strategies that come from code.
#pragma once

#include <string>

namespace xtune {

/// Throws Error(invalid_argument) for a strategy that does not exist, with the names of all strategies. where: start of
/// the message, "TuneSettings::strategy".
void require_strategy(const std::string& where, const std::string& name);

}  // namespace xtune
