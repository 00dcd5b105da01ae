// The ranking of TileLang's carver, for comparison: (traffic + 1) * waves.
#pragma once

#include <string>

#include "core/model/template.hpp"

namespace xtune::model {

struct CarverScore {
  double cost = 0;     ///< 0: carver would reject it
  double traffic = 0;  ///< bytes of an output tile over the full reduction
  double waves = 0;
  double tile_elements = 0;
  int blocks = 0;  ///< per compute unit
};

/// Counts like carver: a tensor costs whole transactions of 128 bytes (reads) or 32 bytes (writes); a compute unit
/// holds min(2 * capacity / shared, register file / registers, 4) blocks, where the capacity is that of a block without
/// opting in, and a block has twice as many registers as its output tile.
CarverScore carver_score(const CarverView& view, const device::DeviceModel& device);

/// "2.1 MB a tile, 3 waves of 3 blocks a compute unit".
std::string describe(const CarverScore& score);

}  // namespace xtune::model
