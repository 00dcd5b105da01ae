// A configuration for beliefs about sources.
#pragma once

#include <cstdint>
#include <vector>

namespace xtune::search {

/// The properties by which beliefs compare places.
struct Place {
  std::uint64_t index = 0, way = 0;             ///< way: the values of its switches as one number
  std::vector<float> point;                     ///< features in units of the length
  const std::vector<double>* scores = nullptr;  ///< by source; not owned
};

}  // namespace xtune::search
