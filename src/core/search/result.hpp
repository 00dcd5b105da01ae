// What a strategy that learns keeps of an observation.
#pragma once

#include <cstdint>

namespace xtune::search {

/// A configuration's first result. Times that no clock gives (not finite, not positive) are failures.
struct SearchResult {
  enum class Kind : std::uint8_t { measured, bound, failed };
  std::uint64_t index = 0;
  Kind kind = Kind::failed;
  double time_ms = 0;  ///< measured: the statistic; bound: at least so long; failed: 0
};

}  // namespace xtune::search
