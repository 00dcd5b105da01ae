// The part of an observation that a learning strategy keeps.
#pragma once

#include <cstdint>

namespace xtune::search {

/// A configuration's first result. Invalid times (not finite, not positive) are failures.
struct SearchResult {
  enum class Kind : std::uint8_t { measured, bound, failed };
  std::uint64_t index = 0;
  Kind kind = Kind::failed;
  double time_ms = 0;  ///< measured: the statistic; bound: a lower bound; failed: 0
};

}  // namespace xtune::search
