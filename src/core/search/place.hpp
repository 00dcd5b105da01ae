// A configuration as beliefs about sources see it.
#pragma once

#include <cstdint>
#include <vector>

namespace xtune::search {

/// What beliefs compare places by.
struct Place {
  std::uint64_t index = 0, way = 0;             ///< way: the values of its switches as one number
  std::vector<float> point;                     ///< features in units of the length
  const std::vector<double>* scores = nullptr;  ///< of each source; not owned
};

}  // namespace xtune::search
