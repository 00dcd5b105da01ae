// Names are compared with the registry, strategies.def.
#include "api/strategy_name.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/text.hpp"
#include "core/search/strategy.hpp"
#include "xtune/error.hpp"

namespace xtune {

void require_strategy(const std::string& where, const std::string& name) {
  const std::vector<std::string> names = search::strategy_names();
  if (std::find(names.begin(), names.end(), name) == names.end())
    throw Error(ErrorKind::invalid_argument,
                fmt::format("{}: unknown strategy '{}'{}; expected one of {}", where, base::printable(name, 80),
                            base::did_you_mean(name, names), fmt::join(names, ", ")));
}

}  // namespace xtune
