// Names are compared with the registry, strategies.def.
#include "api/strategy_name.hpp"

#include "core/search/strategy.hpp"
#include "xtune/error.hpp"

namespace xtune {

void require_strategy(const std::string& where, const std::string& name) {
  if (const std::string complaint = search::strategy_complaint(name); !complaint.empty())
    throw Error(ErrorKind::invalid_argument, where + ": " + complaint);
}

}  // namespace xtune
