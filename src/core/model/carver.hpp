// The ranking of TileLang's carver, for comparison: (traffic + 1) * waves.
#pragma once

#include <string>

#include "core/model/template.hpp"

namespace xtune::model {

struct CarverScore {
  double cost = 0;     ///< 0: carver would not take it
  double traffic = 0;  ///< bytes of an output tile over the full reduction
  double waves = 0;
  double tile_elements = 0;
  int blocks = 0;  ///< of a compute unit
};

/// As carver counts: a tensor costs whole transactions of 128 bytes (reads) or 32 bytes (writes); a compute unit holds
/// min(2 * capacity / shared, register file / registers, 4) blocks, where the capacity is what a block gets without
/// opting in, and the registers of a block are twice its output tile's.
CarverScore carver_score(const CarverView& view, const device::DeviceModel& device);

/// "2.1 MB a tile, 3 waves of 3 blocks a compute unit".
std::string describe(const CarverScore& score);

}  // namespace xtune::model
